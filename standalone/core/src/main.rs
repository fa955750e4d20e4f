//! Which servers may connect, and why not the others? Answered with the runtime alone: no file, no terminal.

use std::{path::PathBuf, sync::Arc};

use qwen_core::{
    Desired, Entry, EnvPolicy, LaunchBound, PoolMode, Scope, ServerSpec, Stdio, VersionNegotiation, View,
    Wire, admit,
};

fn main() {
    let mut desired = Desired::default();
    desired.servers.insert("mine".into(), entry(Scope::User));
    desired.servers.insert("theirs".into(), entry(Scope::Project));
    for (name, verdict) in admit(&desired, &LaunchBound::Unbounded) {
        match verdict {
            Ok(admitted) => println!("{name} may connect: {:?}", admitted.fingerprint()),
            Err(refusal) => println!("{name} may not: {}", refusal.as_str()),
        }
    }
}

fn entry(scope: Scope) -> Entry {
    let stdio = Stdio {
        command: "example-server".to_owned(),
        args: Vec::new(),
        env: Default::default(),
        cwd: PathBuf::from("/"),
        env_policy: EnvPolicy::Restricted,
        version_negotiation: VersionNegotiation::Auto,
        pool: PoolMode::Session,
    };
    Entry::Valid(Arc::new(ServerSpec::new(scope, Wire::Stdio(stdio), View::default())))
}
