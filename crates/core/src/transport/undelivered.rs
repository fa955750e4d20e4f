//! Why did a message not get what it was sent for? Owns the one value in which a transport says so; knows no protocol
//! era and no caller.

use serde_json::Value;

use crate::failure::Failure;

/// A message that was not taken, or a request that will not be answered.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[error("{failure}")]
pub(crate) struct Undelivered {
    /// For people, masked.
    pub(crate) failure: Box<Failure>,
    /// The HTTP status, where there was one.
    pub(crate) status: Option<u16>,
    /// What the server itself said in the protocol's own way beside the status.
    pub(crate) refusal: Option<Box<Refusal>>,
    pub(crate) ends: Ends,
}

/// A protocol error that came with an HTTP status.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Refusal {
    pub(crate) code: i64,
    pub(crate) text: String,
    pub(crate) data: Option<Value>,
}

/// How far it reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ends {
    /// Other requests of the same connection are not concerned.
    Request,
    /// Nothing else will get through either.
    Connection,
}

impl Undelivered {
    /// One request has no answer.
    pub(crate) fn request(failure: Failure) -> Self {
        Self { failure: Box::new(failure), status: None, refusal: None, ends: Ends::Request }
    }

    /// The connection is of no use any more.
    pub(crate) fn connection(failure: Failure) -> Self {
        Self { failure: Box::new(failure), status: None, refusal: None, ends: Ends::Connection }
    }
}
