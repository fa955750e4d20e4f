//! The session inside tmux, where it is installed: another size, and back and forth to the shell.

use std::{path::PathBuf, process::Command};

use qwen_tests::{BOUND, Sandbox, program, wait_until};

/// A tmux of its own for one test.
struct Tmux {
    socket: PathBuf,
}

impl Tmux {
    /// With a shell in the project; `None` where there is no tmux.
    fn start(sandbox: &Sandbox) -> Option<Self> {
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
                println!("skipped: tmux is not installed");
                return None;
            }
        }
        Some(tmux)
    }

    fn command(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-S").arg(&self.socket);
        command
    }

    fn does(&self, args: &[&str]) -> String {
        let output = self.command().args(args).output().expect("tmux runs");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What is on the screen, and what has scrolled away from it.
    fn everything(&self) -> String {
        self.does(&["capture-pane", "-p", "-S", "-"])
    }

    fn shows(&self, words: &str) {
        wait_until(BOUND, &format!("{words} in tmux"), || self.everything().contains(words).then_some(()));
    }

    fn enters(&self, line: &str) {
        self.does(&["send-keys", "-l", line]);
        self.does(&["send-keys", "Enter"]);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.command().arg("kill-server").status().ok();
    }
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
        tmux.does(&["send-keys", "-l", &typed]);
        tmux.shows(&typed);
        wait_until(BOUND, "one status line", || {
            (tmux.everything().matches("no servers").count() == 1).then_some(())
        });
    }
    tmux.does(&["send-keys", "C-z"]);
    wait_until(BOUND, "no status line", || (!tmux.everything().contains("no servers")).then_some(()));
    tmux.enters("echo shell-is-$((40 + 2))");
    tmux.shows("shell-is-42");
    tmux.enters("fg");
    tmux.shows("no servers");
    tmux.shows("> w50w30w100");
    tmux.does(&["send-keys", "C-u"]);
    tmux.enters("/quit");
    tmux.shows("session ended");
    tmux.enters("echo after-$((40 + 3))");
    tmux.shows("after-43");
}
