//! How do bytes travel to and from a server, and how is its process started and ended? Owns processes, pipes and the
//! guard; knows no list, no call and no reason why a connection is wanted.

mod env;
