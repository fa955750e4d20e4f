//! A terminal that is a tmux of its own: what it shows, what is typed into it, and whether it is there at all. It knows
//! the shell in it and nothing of what runs there.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
    time::Instant,
};

use qwen_tests::{BOUND, Sandbox, program, wait_until};

/// A tmux of its own for one test, at 80×24, with a shell in it.
pub(crate) struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// With a shell in the project of a sandbox; `None`, said aloud, where there is no tmux.
    pub(crate) fn start(sandbox: &Sandbox) -> Option<Self> {
        let tmux = Self { socket: sandbox.root().join("tmux.sock") };
        let like = sandbox.command::<&str>([]);
        let mut command = tmux.command();
        command.env_clear();
        command.envs(like.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.current_dir(sandbox.project());
        command.args(["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh"]);
        match command.status() {
            Ok(status) => assert!(status.success()),
            Err(_) => {
                // Past the test runner, which keeps what a test that passes prints to itself.
                let said = "skipped: tmux is not installed, the session in it was not tested\n";
                std::io::stderr().write_all(said.as_bytes()).ok();
                return None;
            }
        }
        tmux.enters("PS1='$ '; clear");
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        // It shows what is not ASCII whatever the locale says.
        command.arg("-u").arg("-S").arg(&self.socket);
        command
    }

    /// Runs a command of tmux; what it prints.
    pub(crate) fn does(&self, args: &[&str]) -> String {
        let output = self.command().args(args).output().expect("tmux runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The rows that are on the screen now.
    pub(crate) fn screen(&self) -> String {
        self.does(&["capture-pane", "-p"]).trim_end().to_owned()
    }

    /// What is on the screen, and what has scrolled away from it.
    pub(crate) fn everything(&self) -> String {
        self.does(&["capture-pane", "-p", "-S", "-"])
    }

    /// Waits until the screen is as it should be and stays so from one look to the next, and hands it over: a look may
    /// come while it is painted.
    pub(crate) fn waits(&self, what: &str, is: impl Fn(&str) -> bool) -> String {
        let end = Instant::now() + BOUND;
        wait_until(2 * BOUND, what, || {
            let screen = self.screen();
            assert!(Instant::now() < end, "no {what} on:\n{screen}");
            (is(&screen) && self.screen() == screen).then_some(screen)
        })
    }

    /// Waits until these words are on the screen.
    pub(crate) fn shows(&self, words: &str) {
        self.waits(words, |screen| screen.contains(words));
    }

    /// Presses keys by their names.
    pub(crate) fn presses(&self, keys: &[&str]) {
        self.does(&[&["send-keys"], keys].concat());
    }

    /// Types a text.
    pub(crate) fn types(&self, text: &str) {
        self.does(&["send-keys", "-l", text]);
    }

    /// Types a line and enters it.
    pub(crate) fn enters(&self, line: &str) {
        self.types(line);
        self.presses(&["Enter"]);
    }

    /// Gives the answer with this label to the question that is shown.
    pub(crate) fn answers(&self, label: &str) {
        // It has the keys a moment after it appeared.
        self.shows("[ Not now ]");
        let wanted = format!("[ {label} ]");
        while !self.screen().contains(&wanted) {
            let before = self.screen();
            self.presses(&["Left"]);
            self.waits("another answer", |screen| screen != before);
        }
        self.presses(&["Enter"]);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.command().arg("kill-server").status().ok();
    }
}

/// The program at a path of its own below a folder, so that what it says of itself is as long everywhere.
pub(crate) fn program_in(folder: &Path) -> PathBuf {
    let (program, path) = (program("qwen-under-test"), folder.join("qwen"));
    if std::fs::hard_link(&program, &path).is_err() {
        std::fs::copy(&program, &path).expect("the program can be copied");
    }
    path
}

#[test]
fn in_tmux_a_resize_leaves_nothing_stale_and_the_shell_gets_its_terminal_back() {
    let sandbox = Sandbox::new();
    let Some(tmux) = Tmux::start(&sandbox) else { return };
    tmux.enters(&program("qwen-under-test").display().to_string());
    tmux.shows("no servers");
    tmux.enters("/nothing");
    tmux.shows("there is no /nothing");
    for (columns, rows) in [("50", "20"), ("30", "10"), ("100", "30")] {
        tmux.does(&["resize-window", "-x", columns, "-y", rows]);
        let typed = format!("w{columns}");
        tmux.types(&typed);
        tmux.shows(&typed);
        wait_until(BOUND, "one status line", || {
            (tmux.everything().matches("no servers").count() == 1).then_some(())
        });
    }
    tmux.presses(&["C-z"]);
    wait_until(BOUND, "no status line", || (!tmux.everything().contains("no servers")).then_some(()));
    tmux.enters("echo shell-is-$((40 + 2))");
    tmux.shows("shell-is-42");
    tmux.enters("fg");
    tmux.shows("no servers");
    tmux.shows("> w50w30w100");
    tmux.presses(&["C-u"]);
    tmux.enters("/quit");
    tmux.shows("session ended");
    tmux.enters("echo after-$((40 + 3))");
    tmux.shows("after-43");
}
