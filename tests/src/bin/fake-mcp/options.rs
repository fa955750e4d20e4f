//! What the flags say. It knows the words of the command line and nothing of the protocol.

use std::{collections::BTreeMap, path::PathBuf};

use crate::{
    http::Site,
    script::{Action, Point},
};

/// A switch of the script.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Script {
    /// As a decent server would.
    #[default]
    No,
    /// Misbehave.
    Yes,
}

/// How `tools/list` uses cursors.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Cursor {
    /// One page.
    #[default]
    None,
    /// One page, with `nextCursor: null`.
    Null,
    /// The same cursor for ever.
    Repeat,
    /// An empty cursor for ever.
    Empty,
    /// A new cursor each time, without end.
    Endless,
    /// An error instead of the second page.
    ErrorOnPage2,
    /// So many tools a page, properly.
    PageSize(usize),
}

/// Everything one life of the server does.
#[derive(Clone, Default, Debug)]
pub(crate) struct Options {
    /// Its name in `serverInfo` and in the log.
    pub(crate) name: String,
    /// Names of its tools.
    pub(crate) tools: Vec<String>,
    /// Tools as JSON, read again at each `tools/list`.
    pub(crate) tools_file: Option<PathBuf>,
    /// How many prompts.
    pub(crate) prompts: usize,
    /// How many resources.
    pub(crate) resources: usize,
    /// Declare no capability at all.
    pub(crate) declare_nothing: Script,
    /// The version it answers; without, the one it was asked for.
    pub(crate) protocol: Option<String>,
    /// Cursors of `tools/list`.
    pub(crate) cursor: Cursor,
    /// Whole messages by method, read from files; the id is put in.
    pub(crate) answers: BTreeMap<String, PathBuf>,
    /// What it does at which point, in order.
    pub(crate) script: Vec<(Point, Action)>,
    /// Reads and never answers.
    pub(crate) mute: Script,
    /// Never reads.
    pub(crate) deaf: Script,
    /// Writes each message in small pieces, cutting characters in two.
    pub(crate) split: Script,
    /// Goes on when stdin ends.
    pub(crate) ignore_eof: Script,
    /// Goes on at SIGTERM, SIGINT and SIGHUP.
    pub(crate) ignore_term: Script,
    /// Where its life is written.
    pub(crate) log: Option<PathBuf>,
    /// Also write the environment.
    pub(crate) dump_env: Script,
    /// A socket `PREFIX.PID` takes actions while it runs.
    pub(crate) control: Option<PathBuf>,
    /// Answers `server/discover` in place of `initialize`, as the protocol era after it does.
    pub(crate) modern: Script,
    /// Served over HTTP instead of stdio.
    pub(crate) site: Option<Site>,
    /// While this file does not exist it is created and the script holds; after that the server is a decent one.
    pub(crate) faults_once: Option<PathBuf>,
}

impl Options {
    /// Reads the flags.
    ///
    /// # Errors
    /// A flag that is not known, or its value.
    pub(crate) fn parse(args: &[String]) -> Result<Self, String> {
        let mut options = Self { name: "fake".to_owned(), ..Self::default() };
        let mut rest = args.iter();
        while let Some(flag) = rest.next() {
            let mut value = || rest.next().cloned().ok_or_else(|| format!("{flag} needs a value"));
            match flag.as_str() {
                "--name" => options.name = value()?,
                "--tool" => options.tools.push(value()?),
                "--tools" => {
                    let count: usize = number(&value()?)?;
                    options.tools.extend((1..=count).map(|n| format!("tool_{n}")));
                }
                "--tools-file" => options.tools_file = Some(value()?.into()),
                "--prompts" => options.prompts = number(&value()?)?,
                "--resources" => options.resources = number(&value()?)?,
                "--declare-nothing" => options.declare_nothing = Script::Yes,
                "--protocol" => options.protocol = Some(value()?),
                "--cursor" => options.cursor = cursor(&value()?)?,
                "--answer" => {
                    let (method, file) = (value()?, value()?);
                    options.answers.insert(method, file.into());
                }
                "--at" => {
                    let (point, action) = (value()?, value()?);
                    options.script.push((Point::parse(&point)?, Action::parse(&action)?));
                }
                "--init-delay-ms" => {
                    let ms = number(&value()?)?;
                    options.script.push((Point::Initialize, Action::Wait { ms }));
                }
                "--mute" => options.mute = Script::Yes,
                "--deaf" => options.deaf = Script::Yes,
                "--split" => options.split = Script::Yes,
                "--ignore-eof" => options.ignore_eof = Script::Yes,
                "--ignore-term" => options.ignore_term = Script::Yes,
                "--log" => options.log = Some(value()?.into()),
                "--dump-env" => options.dump_env = Script::Yes,
                "--control" => options.control = Some(value()?.into()),
                "--modern" => options.modern = Script::Yes,
                "--http" => drop(options.site.get_or_insert_default()),
                "--faults-once" => options.faults_once = Some(value()?.into()),
                flag if let Some(site) = &mut options.site => site.parse(flag, value)?,
                // Anything else may stand in a test's entry only to make it differ from another one.
                "--tag" => drop(value()?),
                other => return Err(format!("unknown flag {other}")),
            }
        }
        if options.tools.is_empty() {
            options.tools.push("echo".to_owned());
        }
        Ok(options)
    }

    /// The same server without its faults where `--faults-once FILE` says that they have happened.
    pub(crate) fn without_faults_after_the_first(self) -> Self {
        let Some(file) = &self.faults_once else { return self };
        if std::fs::File::create_new(file).is_ok() {
            return self;
        }
        Self {
            script: Vec::new(),
            answers: BTreeMap::new(),
            mute: Script::No,
            deaf: Script::No,
            protocol: None,
            cursor: Cursor::None,
            ..self
        }
    }
}

/// A number, or which text is none.
pub(crate) fn number<N: std::str::FromStr>(text: &str) -> Result<N, String> {
    text.parse().map_err(|_| format!("{text} is not a number"))
}

fn cursor(word: &str) -> Result<Cursor, String> {
    Ok(match word {
        "null" => Cursor::Null,
        "repeat" => Cursor::Repeat,
        "empty" => Cursor::Empty,
        "endless" => Cursor::Endless,
        "error-on-page-2" => Cursor::ErrorOnPage2,
        size => Cursor::PageSize(number(size)?),
    })
}
