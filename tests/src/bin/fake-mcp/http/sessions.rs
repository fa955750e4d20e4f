//! Who is being served, and what waits to be sent to them without having been asked for.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
        mpsc::{self, Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use crate::{
    script::Out,
    server::{Peer, Server},
};

/// How soon a stream notices that it was ended or that another one took its place.
const LOOK: Duration = Duration::from_millis(20);

/// One client.
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) peer: Arc<Peer>,
    pub(crate) out: Arc<Out>,
    waiting: Mutex<Receiver<Vec<u8>>>,
    /// The number of the stream that may read what waits.
    reader: AtomicU64,
    events: AtomicU64,
}

impl Session {
    fn new(id: String, server: &Arc<Server>) -> Self {
        let (sender, receiver) = mpsc::channel();
        let out = Arc::new(Out::messages(sender));
        Self {
            id,
            peer: Arc::new(Peer::new(Arc::clone(server), Arc::clone(&out))),
            out,
            waiting: Mutex::new(receiver),
            reader: AtomicU64::new(0),
            events: AtomicU64::new(0),
        }
    }

    /// Becomes the one stream that gets what waits.
    pub(crate) fn reader(&self) -> u64 {
        self.reader.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Ends the stream that is open.
    pub(crate) fn end_stream(&self) {
        self.reader.fetch_add(1, Ordering::SeqCst);
    }

    /// The number of the next event.
    pub(crate) fn number(&self) -> u64 {
        self.events.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// What waits for this stream; `None` when it is to end.
    pub(crate) fn next(&self, reader: u64) -> Option<String> {
        while self.reader.load(Ordering::SeqCst) == reader {
            let waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
            match waiting.recv_timeout(LOOK) {
                Ok(message) => return Some(String::from_utf8_lossy(&message).into_owned()),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
        None
    }
}

/// All of them.
pub(crate) struct Sessions {
    server: Arc<Server>,
    open: Mutex<BTreeMap<String, Arc<Session>>>,
    count: AtomicU64,
}

impl Sessions {
    pub(crate) fn new(server: Arc<Server>) -> Self {
        Self { server, open: Mutex::default(), count: AtomicU64::new(0) }
    }

    /// A new one. Its id is of this life: another one does not know it.
    pub(crate) fn open(&self) -> Arc<Session> {
        let count = self.count.fetch_add(1, Ordering::SeqCst) + 1;
        let session = Arc::new(Session::new(format!("{}-{count}", std::process::id()), &self.server));
        self.lock().insert(session.id.clone(), Arc::clone(&session));
        session
    }

    /// The one with this id, if it is not forgotten.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.lock().get(id).cloned()
    }

    /// The one that clients without an id share.
    pub(crate) fn shared(&self) -> Arc<Session> {
        let new = || Arc::new(Session::new(String::new(), &self.server));
        Arc::clone(self.lock().entry(String::new()).or_insert_with(new))
    }

    /// Ends and forgets one.
    pub(crate) fn close(&self, id: &str) {
        if let Some(session) = self.lock().remove(id) {
            session.end_stream();
        }
    }

    /// Every one that is open.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.lock().values().cloned().collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, Arc<Session>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
