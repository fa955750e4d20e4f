//! What is a connection, from its handshake to its end? Owns the conversation with one server: handshake, lists, calls
//! and the watch over all of it. Knows bytes and processes only through `transport`, and never decides who may connect.

mod answers;
mod call;
mod calls;
mod conversation;
mod direct;
mod ground;
mod handshake;
mod items;
mod listing;
mod live;
mod peer;
mod permits;
mod phase;
mod process;
mod remote;
mod rounds;
mod subscribe;
mod tap;
mod vitals;

pub use direct::{Client, DirectConnector};
