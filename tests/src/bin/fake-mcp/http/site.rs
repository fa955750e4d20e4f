//! What the flags after `--http` say. It knows the words of the command line and nothing of HTTP.

use std::path::PathBuf;

use super::{
    fault::Fault,
    wire::{LineEnd, Shape},
};
use crate::options::{Script, number};

/// How the server behaves as a web site.
#[derive(Clone, Default, Debug)]
pub(crate) struct Site {
    /// Zero is any free one.
    pub(crate) port: u16,
    /// The chain and the key of an `https` server.
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    /// No server at all, but a proxy to others.
    pub(crate) proxy: Script,
    /// What the proxy answers instead of passing anything on.
    pub(crate) proxy_refuses: Option<u16>,
    /// Gives out no session ids and knows none.
    pub(crate) stateless: Script,
    /// Answers every request with a stream, however short.
    pub(crate) streams: Script,
    /// Refuses streamable HTTP like a server of the era before it.
    pub(crate) legacy: Script,
    /// What the legacy stream names as its endpoint; without, a path of this server.
    pub(crate) endpoint: Option<String>,
    /// What goes wrong, first match first.
    pub(crate) faults: Vec<Fault>,
    split: Script,
    comments: Script,
    line_end: LineEnd,
}

impl Site {
    /// Reads one flag.
    ///
    /// # Errors
    /// A flag that is not known, or its value.
    pub(crate) fn parse(
        &mut self,
        flag: &str,
        mut value: impl FnMut() -> Result<String, String>,
    ) -> Result<(), String> {
        match flag {
            "--port" => self.port = number(&value()?)?,
            "--tls" => self.tls = Some((value()?.into(), value()?.into())),
            "--proxy" => self.proxy = Script::Yes,
            "--proxy-refuses" => {
                self.proxy = Script::Yes;
                self.proxy_refuses = Some(number(&value()?)?);
            }
            "--stateless" => self.stateless = Script::Yes,
            "--streams" => self.streams = Script::Yes,
            "--legacy" => self.legacy = Script::Yes,
            "--endpoint" => self.endpoint = Some(value()?),
            "--fault" => self.faults.push(Fault::parse(&value()?, &value()?)?),
            "--cut" => self.split = Script::Yes,
            "--comments" => self.comments = Script::Yes,
            "--line-end" => self.line_end = LineEnd::parse(&value()?)?,
            other => return Err(format!("unknown flag {other}")),
        }
        Ok(())
    }

    /// How bytes of streams are written.
    pub(crate) fn shape(&self) -> Shape {
        Shape { cut: self.split, comments: self.comments, line_end: self.line_end }
    }
}
