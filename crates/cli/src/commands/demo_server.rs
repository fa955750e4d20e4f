//! How a demo server talks: lines in on stdin, lines out on stdout, each sleeping call on a thread of its own. What
//! it answers is decided in `answer`, which knows no stream, no thread and no clock.

mod answer;

use std::{
    collections::HashMap,
    io::{self, BufRead as _, Write as _},
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use self::answer::{Answer, DemoServer, Nap, Step};
use crate::{args::DemoServerArgs, exit::Exit};

/// Serves until stdin is closed.
pub(crate) fn run(args: &DemoServerArgs) -> Exit {
    let mut server = DemoServer::new(args.name.clone(), args.tools, Duration::from_millis(args.delay_ms));
    let naps = Naps::default();
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        if line.trim().is_empty() {
            continue;
        }
        let step = match serde_json::from_str::<Value>(&line) {
            Ok(message) => server.receive(&message),
            Err(error) => Step::Say(answer::parse_error(&error.to_string())),
        };
        match step {
            Step::Say(message) => say(&message),
            Step::Nap(nap) => naps.begin(nap),
            Step::Wake(id) => naps.end(&id),
            Step::Nothing => {}
        }
    }
    // Sleeping threads end with the process: whoever closed stdin wants no answer.
    Exit::Ok
}

/// Writes one message as one line; a client that no longer reads is noticed on stdin.
fn say(message: &Value) {
    let mut line = message.to_string();
    line.push('\n');
    let mut out = io::stdout().lock();
    drop(out.write_all(line.as_bytes()).and_then(|()| out.flush()));
}

/// The calls that sleep, by request id; dropping the sender wakes the sleeper.
#[derive(Default, Clone)]
struct Naps(Arc<Mutex<HashMap<String, mpsc::Sender<()>>>>);

impl Naps {
    fn begin(&self, nap: Nap) {
        let key = nap.id.to_string();
        let (alarm, woken) = mpsc::channel();
        self.lock().insert(key.clone(), alarm);
        let naps = self.clone();
        thread::spawn(move || {
            if let Some(answer) = sleep(&nap, &woken) {
                say(&answer);
            }
            naps.lock().remove(&key);
        });
    }

    fn end(&self, id: &Value) {
        self.lock().remove(&id.to_string());
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, mpsc::Sender<()>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sleeps in ten steps, telling the progress after each; `None` when it was woken, since a cancelled request has no
/// answer.
fn sleep(nap: &Nap, woken: &mpsc::Receiver<()>) -> Option<Value> {
    const STEPS: u32 = 10;
    let steps = if nap.progress_token.is_some() { STEPS } else { 1 };
    for step in 1..=steps {
        match woken.recv_timeout(nap.duration / steps) {
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(mpsc::RecvTimeoutError::Disconnected) => return None,
        }
        if let Some(token) = &nap.progress_token {
            say(&json!({
                "jsonrpc": "2.0",
                "method": "notifications/progress",
                "params": { "progressToken": token, "progress": step, "total": steps, "message": "sleeping" },
            }));
        }
    }
    Some(nap.answer.clone().into_message(&nap.id))
}

impl Answer {
    fn into_message(self, id: &Value) -> Value {
        match self {
            Self::Result(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Self::Error { code, message } => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } })
            }
        }
    }
}
