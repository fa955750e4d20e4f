//! A running `mcp watch --json`: its events as they arrive, and ways to wait for them.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    path::PathBuf,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::{
    sandbox::{Sandbox, kill},
    save::replace,
    wait::{BOUND, wait_until},
};

/// A place in the stream of events: only what comes later counts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Mark(usize);

impl Mark {
    /// Before the first event.
    pub const START: Self = Self(0);
}

#[derive(Default)]
struct Heard {
    events: Mutex<Vec<Value>>,
    news: Condvar,
    stderr: Mutex<String>,
}

/// The session under test. Dropping it kills it.
pub struct Watch {
    child: Child,
    stdin: Option<ChildStdin>,
    heard: Arc<Heard>,
    defaults: PathBuf,
    barriers: u32,
}

impl Watch {
    /// Starts the command, which prints events as JSON lines.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(mut command: Command, sandbox: &Sandbox) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program can be started");
        let heard = Arc::new(Heard::default());
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let (out, err) = (Arc::clone(&heard), Arc::clone(&heard));
        std::thread::spawn(move || {
            for line in BufReader::new(stdout.expect("it is piped")).lines().map_while(Result::ok) {
                let event = serde_json::from_str(&line).unwrap_or(Value::String(line));
                lock(&out.events).push(event);
                out.news.notify_all();
            }
        });
        std::thread::spawn(move || {
            let mut stream = stderr.expect("it is piped");
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stream.read(&mut bytes) {
                lock(&err.stderr).push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        let stdin = child.stdin.take();
        Self { child, stdin, heard, defaults: sandbox.system_defaults(), barriers: 0 }
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Everything it said so far.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        lock(&self.heard.events).clone()
    }

    /// What it wrote to stderr so far.
    #[must_use]
    pub fn stderr(&self) -> String {
        lock(&self.heard.stderr).clone()
    }

    /// Now.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(lock(&self.heard.events).len())
    }

    /// What came after the mark.
    #[must_use]
    pub fn since(&self, mark: Mark) -> Vec<Value> {
        self.events().split_off(mark.0)
    }

    /// What came after the mark with this event name.
    #[must_use]
    pub fn named_since(&self, mark: Mark, name: &str) -> Vec<Value> {
        self.since(mark).into_iter().filter(|event| event["event"] == name).collect()
    }

    /// Waits for an answer from all that was said so far.
    ///
    /// # Panics
    /// When there is none within the bound, with everything that was said.
    pub fn wait_within<T>(
        &self,
        bound: Duration,
        what: &str,
        mut ask: impl FnMut(&[Value]) -> Option<T>,
    ) -> T {
        let end = Instant::now() + bound;
        let mut events = lock(&self.heard.events);
        loop {
            if let Some(answer) = ask(&events) {
                return answer;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let said: Vec<String> = events.iter().map(Value::to_string).collect();
                drop(events);
                panic!(
                    "waited {bound:?} for {what}; heard:\n{}\nstderr:\n{}",
                    said.join("\n"),
                    self.stderr()
                );
            }
            events = self.heard.news.wait_timeout(events, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits for the first event after the mark with this name for which `right` holds.
    pub fn after(&self, mark: Mark, name: &str, right: impl Fn(&Value) -> bool) -> Value {
        self.after_within(BOUND, mark, name, right)
    }

    /// The same, with a bound of one's own.
    pub fn after_within(
        &self,
        bound: Duration,
        mark: Mark,
        name: &str,
        right: impl Fn(&Value) -> bool,
    ) -> Value {
        self.wait_within(bound, name, |events| {
            events[mark.0..].iter().find(|event| event["event"] == name && right(event)).cloned()
        })
    }

    /// Waits until the session has started and its first generation has settled.
    pub fn ready(&self) -> &Self {
        self.after(Mark::START, "mcp-settled", |_| true);
        self
    }

    /// Waits for the next planned commit after the mark.
    pub fn reloaded(&self, mark: Mark) -> Value {
        self.after(mark, "mcp-reload", |_| true)
    }

    /// Waits until a commit planned after the mark has settled, and returns that commit.
    pub fn settled(&self, mark: Mark) -> Value {
        let reload = self.reloaded(mark);
        let generation = reload["generation"].as_u64().unwrap_or_default();
        self.after(mark, "mcp-settled", |event| event["generation"].as_u64() >= Some(generation));
        reload
    }

    /// Waits until the server's newest update says this state, and returns that update.
    pub fn state(&self, server: &str, state: &str) -> Value {
        self.wait_within(BOUND, &format!("{server} to be {state}"), |events| {
            newest(events, server).filter(|event| event["state"] == state).cloned()
        })
    }

    /// Waits for an update of the server after the mark that says this state.
    pub fn state_after(&self, mark: Mark, server: &str, state: &str) -> Value {
        self.after(mark, "mcp-client-update", |event| event["server"] == server && event["state"] == state)
    }

    /// What the server's newest update said, if there was any.
    #[must_use]
    pub fn newest(&self, server: &str) -> Option<Value> {
        newest(&self.events(), server).cloned()
    }

    /// Waits until the server is connected and returns its process id.
    ///
    /// # Panics
    /// When a connected server has no process.
    pub fn pid_of(&self, server: &str) -> u32 {
        let update = self.state(server, "connected");
        let pid = update["pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
        pid.unwrap_or_else(|| panic!("no pid in {update}"))
    }

    /// The process ids of connected servers by name.
    #[must_use]
    pub fn pids(&self, servers: &[String]) -> Vec<u32> {
        servers.iter().map(|server| self.pid_of(server)).collect()
    }

    /// Saves an edit that touches no server and waits until it is told. What an earlier save would have caused has
    /// been told by then: this is how "nothing happens" is shown. Returns what came between the mark and the barrier.
    pub fn nothing_more_since(&mut self, mark: Mark) -> Vec<Value> {
        self.barriers += 1;
        let document = json!({ "ui": { "barrier": self.barriers } });
        let count = self.barriers;
        let before = self.mark();
        replace(&self.defaults, &document.to_string());
        let told = |event: &Value| {
            event["event"] == "settings-change"
                && event["changes"].as_array().is_some_and(|changes| {
                    changes.iter().any(|change| change["keys"].to_string().contains("barrier"))
                })
        };
        self.wait_within(BOUND, &format!("barrier {count}"), |events| {
            let place = before.0 + events[before.0..].iter().position(told)?;
            Some(events[mark.0.min(place)..place].to_vec())
        })
    }

    /// Waits until nothing is opening any more and all of that has been told; what comes after the mark is new.
    pub fn quiet(&mut self) -> Mark {
        self.wait_within(BOUND, "the newest commit to settle", |events| {
            let newest = |name: &str| events.iter().rev().find(|event| event["event"] == name);
            let planned = newest("mcp-reload")?["generation"].as_u64();
            (newest("mcp-settled")?["generation"].as_u64() == planned).then_some(())
        });
        self.nothing_more_since(self.mark());
        self.mark()
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        kill(self.pid(), signal);
    }

    /// Sends its whole process group a signal.
    pub fn signal_group(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.pid()).ok().and_then(Pid::from_raw) {
            // Gone is as good as killed.
            kill_process_group(group, signal).ok();
        }
    }

    /// Closes its standard input.
    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Waits until it has ended.
    pub fn ended(&mut self) -> ExitStatus {
        let child = &mut self.child;
        wait_until(BOUND, "the session to end", || child.try_wait().ok().flatten())
    }

    /// Ends it politely, checks that this worked, and returns all it said.
    ///
    /// # Panics
    /// When it does not end with 0 and a last word.
    pub fn finish(mut self) -> Vec<Value> {
        self.signal(Signal::TERM);
        let status = self.ended();
        assert_eq!(status.code(), Some(0), "stderr: {}", self.stderr());
        self.after(Mark::START, "session-ended", |_| true);
        self.events()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.signal_group(Signal::KILL);
        self.child.wait().ok();
        if std::thread::panicking() {
            eprintln!("stderr of the session:\n{}", self.stderr());
        }
    }
}

fn newest<'a>(events: &'a [Value], server: &str) -> Option<&'a Value> {
    events.iter().rev().find(|event| event["event"] == "mcp-client-update" && event["server"] == server)
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
