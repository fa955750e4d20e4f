//! A terminal with the program on it, looked at as it shows it: rows of text, what has scrolled away, the cursor.

use std::{
    io::{Read as _, Write},
    num::NonZero,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use qwen_tests::{BOUND, Sandbox, wait_until};

/// Synchronized output ends.
const END_OF_PICTURE: &[u8] = b"\x1b[?2026l";

/// What a terminal would show.
struct Shown {
    parser: vt100::Parser,
    raw: Vec<u8>,
}

/// A terminal with the program on it.
pub(crate) struct Glass {
    child: Box<dyn Child + Send + Sync>,
    keyboard: Box<dyn Write + Send>,
    master: Box<dyn MasterPty + Send>,
    shown: Arc<Mutex<Shown>>,
    before: String,
}

fn some(number: u16) -> NonZero<u16> {
    NonZero::new(number).expect("a size is not zero")
}

impl Glass {
    /// Runs the program with these arguments at 80×24.
    pub(crate) fn start(sandbox: &Sandbox, args: &[&str]) -> Self {
        Self::with_size(sandbox, args, 80, 24, &[])
    }

    /// The same at another size, with these variables as well.
    pub(crate) fn with_size(
        sandbox: &Sandbox,
        args: &[&str],
        columns: u16,
        rows: u16,
        variables: &[(&str, &str)],
    ) -> Self {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        let pair = native_pty_system().openpty(size).expect("a terminal can be opened");
        let like = sandbox.command(args);
        let mut words = like.get_args();
        let mut command = CommandBuilder::new(words.next().expect("the program"));
        command.args(words);
        command.env_clear();
        for (name, value) in like.get_envs() {
            command.env(name, value.expect("every variable is set"));
        }
        command.env("TERM", "xterm-256color");
        for (name, value) in variables {
            command.env(name, value);
        }
        command.cwd(like.get_current_dir().expect("the project"));
        let before = format!("{:?}", pair.master.get_termios());
        let child = pair.slave.spawn_command(command).expect("the program can be started");
        drop(pair.slave);
        let keyboard = pair.master.take_writer().expect("a keyboard");
        let mut output = pair.master.try_clone_reader().expect("a screen");
        let parser = vt100::Parser::new(some(rows), some(columns), 1000);
        let shown = Arc::new(Mutex::new(Shown { parser, raw: Vec::new() }));
        let seen = Arc::clone(&shown);
        std::thread::spawn(move || {
            let mut bytes = [0; 8192];
            while let Ok(count @ 1..) = output.read(&mut bytes) {
                let mut shown = seen.lock().unwrap_or_else(PoisonError::into_inner);
                shown.parser.process(&bytes[..count]);
                shown.raw.extend_from_slice(&bytes[..count]);
            }
        });
        Self { child, keyboard, master: pair.master, shown, before }
    }

    fn with<T>(&self, look: impl FnOnce(&mut Shown) -> T) -> T {
        look(&mut self.shown.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The rows that are on the screen now.
    pub(crate) fn screen(&self) -> String {
        self.with(|shown| {
            let (_, columns) = shown.parser.screen().size();
            let rows = shown.parser.screen().rows(0, columns.get());
            rows.map(|row| row.trim_end().to_owned() + "\n").collect::<String>().trim_end().to_owned()
        })
    }

    /// Every byte that was written.
    pub(crate) fn raw(&self) -> String {
        self.with(|shown| String::from_utf8_lossy(&shown.raw).into_owned())
    }

    /// Waits until the screen is as it should be.
    pub(crate) fn waits(&self, what: &str, is: impl Fn(&str) -> bool) {
        let end = Instant::now() + BOUND;
        wait_until(2 * BOUND, what, || {
            let screen = self.screen();
            assert!(Instant::now() < end, "no {what} on:\n{screen}");
            is(&screen).then_some(())
        });
    }

    /// Waits until these words are on the screen.
    pub(crate) fn shows(&self, words: &str) {
        self.waits(words, |screen| screen.contains(words));
    }

    /// Waits until these words have gone from the screen.
    pub(crate) fn loses(&self, words: &str) {
        self.waits(&format!("screen without {words}"), |screen| !screen.contains(words));
    }

    /// Types.
    pub(crate) fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal takes keys");
        self.keyboard.flush().expect("the terminal takes keys");
    }

    /// Types a line, sees it typed, and enters it.
    pub(crate) fn enters(&mut self, line: &str) {
        self.types(line);
        self.shows(&format!("> {line}"));
        self.types("\r");
    }

    /// Gives the answer with this label to the question that is shown.
    pub(crate) fn answers(&mut self, label: &str) {
        // It has the keys a moment after it appeared.
        self.shows("[ Not now ]");
        for _ in 0..4 {
            if self.screen().contains(&format!("[ {label} ]")) {
                break;
            }
            let before = self.screen();
            self.types("\u{1b}[D");
            self.waits("another answer", |screen| screen != before);
        }
        self.shows(&format!("[ {label} ]"));
        self.types("\r");
    }

    /// Gives the terminal another size, and waits until it was painted for that size.
    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.painted();
        let before = self.with(|shown| shown.raw.len());
        self.set_size(columns, rows);
        wait_until(BOUND, "the other size to be painted", || {
            self.with(|shown| (shown.raw.len() > before).then_some(()))
        });
        self.painted();
    }

    /// Gives the terminal another size and types at the same moment.
    pub(crate) fn resize_and_type(&mut self, columns: u16, rows: u16, keys: &str) {
        self.set_size(columns, rows);
        self.types(keys);
    }

    fn set_size(&self, columns: u16, rows: u16) {
        let size = PtySize { rows, cols: columns, pixel_width: 0, pixel_height: 0 };
        self.with(|shown| shown.parser.screen_mut().set_size(some(rows), some(columns)));
        self.master.resize(size).expect("a terminal has any size");
    }

    /// The screen as it is between two pictures: what is painted is read in pieces.
    pub(crate) fn painted(&self) -> String {
        let is_whole = || self.with(|shown| shown.raw.ends_with(END_OF_PICTURE).then_some(()));
        wait_until(BOUND, "a whole picture", is_whole);
        self.screen()
    }

    /// The process id of the program.
    pub(crate) fn pid(&self) -> u32 {
        self.child.process_id().expect("it was started")
    }

    /// Waits until the program has ended; its exit code.
    pub(crate) fn ended(&mut self) -> u32 {
        let child = &mut self.child;
        wait_until(BOUND, "the program to end", || child.try_wait().ok().flatten()).exit_code()
    }

    /// That the terminal is as it was found.
    pub(crate) fn is_as_found(&self) {
        assert_eq!(format!("{:?}", self.master.get_termios()), self.before);
        wait_until(BOUND, "the cursor and plain pastes", || {
            self.with(|shown| {
                let screen = shown.parser.screen();
                (!screen.hide_cursor() && !screen.bracketed_paste()).then_some(())
            })
        });
    }
}

impl Drop for Glass {
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}
