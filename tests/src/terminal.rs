//! The program on a terminal of its own: what appears on it, what is typed, and what happens when it goes away.

use std::{
    fs::File,
    io::{Read as _, Write as _},
    process::{Child, ExitStatus},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use rustix::{
    process::Signal,
    pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt},
};

use crate::{
    sandbox::{Sandbox, kill, setsid},
    wait::{BOUND, wait_until},
};

/// A terminal with the program on it.
pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<Appeared>>,
}

/// Everything that appeared, and when which part of it did.
#[derive(Debug, Default)]
struct Appeared {
    text: String,
    /// How long the text was at which moment.
    lengths: Vec<(usize, Instant)>,
}

impl Terminal {
    /// Runs the program with these arguments on a new terminal that controls it.
    ///
    /// # Panics
    /// When there is no terminal to be had.
    #[must_use]
    pub fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a terminal can be opened");
        grantpt(&ours).and_then(|()| unlockpt(&ours)).expect("its other end can be opened");
        let path = ptsname(&ours, Vec::new()).expect("its other end has a name");
        let path = path.to_str().expect("which is text");
        let theirs =
            || File::options().read(true).write(true).open(path).expect("the other end can be opened");
        let mut command = setsid(&sandbox.command_of_this_session(args), &["--ctty"]);
        let child = command
            .env("TERM", "xterm-256color")
            .stdin(theirs())
            .stdout(theirs())
            .stderr(theirs())
            .spawn()
            .expect("the program can be started");
        let keyboard = File::from(ours);
        let screen = Arc::new(Mutex::new(Appeared::default()));
        let (mut output, seen) = (keyboard.try_clone().expect("a descriptor"), Arc::clone(&screen));
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let text = String::from_utf8_lossy(&bytes[..count]).into_owned();
                let now = Instant::now();
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.text.push_str(&text);
                let length = seen.text.len();
                seen.lengths.push((length, now));
            }
        });
        Self { child, keyboard, screen }
    }

    /// Everything that appeared so far.
    #[must_use]
    pub fn screen(&self) -> String {
        self.screen.lock().unwrap_or_else(PoisonError::into_inner).text.clone()
    }

    /// Waits until these words have appeared; when their last byte did.
    ///
    /// # Panics
    /// When they do not within the bound.
    pub fn appeared_at(&self, words: &str) -> Instant {
        wait_until(BOUND, words, || {
            let screen = self.screen.lock().unwrap_or_else(PoisonError::into_inner);
            let end = screen.text.find(words)? + words.len();
            screen.lengths.iter().find(|(length, _)| *length >= end).map(|(_, at)| *at)
        })
    }

    /// Waits until these words have appeared.
    ///
    /// # Panics
    /// When they do not within the bound.
    pub fn shows(&self, words: &str) {
        let end = Instant::now() + BOUND;
        wait_until(2 * BOUND, words, || {
            let screen = self.screen();
            assert!(Instant::now() < end, "no {words:?} on:\n{screen}");
            screen.contains(words).then_some(())
        });
    }

    /// Types.
    ///
    /// # Panics
    /// When the terminal has gone.
    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes keys");
    }

    /// Tells the program what the system tells it when its terminal goes away.
    pub fn hang_up(&self) {
        kill(self.pid(), Signal::HUP);
    }

    /// The process id of the program.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until the program has ended.
    pub fn ended(&mut self) -> ExitStatus {
        let child = &mut self.child;
        wait_until(BOUND, "the program to end", || child.try_wait().ok().flatten())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
