//! What does one reload cost for 10, 1,000 and 10,000 servers? Admission, the plan of one change (with its verdicts), fingerprints and the
//! catalogue. `cargo xtask bench` reads the medians and holds them to their ratios.

use std::{hint::black_box, sync::Arc};

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use qwen_core::{
    AllowList, AllowedNames, Desired, Entry, Fingerprint, LaunchBound, LiveView, Pattern, Scope, ServerName,
    ServerSpec, View, Wire, admit, plan,
    testing::{Offers, stdio},
};

const SIZES: [usize; 3] = [10, 1_000, 10_000];

/// More than the caches of a processor hold.
const MORE_THAN_CACHED: usize = 64 << 20;

/// Leaves the caches as a reload finds them: between two edits the processor did other things. Without this, small sizes
/// would be measured from a cache that no reload has, and large ones not.
fn after_other_work(memory: &[u8]) {
    black_box(memory.iter().step_by(64).map(|byte| u64::from(*byte)).sum::<u64>());
}

fn name(index: usize) -> ServerName {
    format!("server-{index:05}").as_str().into()
}

fn spec(index: usize, edit: &str) -> Arc<ServerSpec> {
    let mut child = stdio("node");
    child.args = ["server.js", "--index", &index.to_string(), edit].map(Into::into).to_vec();
    child.env.insert("TOKEN".to_owned(), "some-value".into());
    Arc::new(ServerSpec::new(Scope::User, Wire::Stdio(child), View::default()))
}

fn desired(count: usize) -> Desired {
    let servers = (0..count).map(|index| (name(index), Entry::Valid(spec(index, "")))).collect();
    let mut desired = Desired { servers, ..Desired::default() };
    desired.gating.excluded = Pattern::new("other-*").into_iter().collect();
    let patterns = Pattern::new("server-*").into_iter().collect();
    desired.gating.allowed = AllowList::Every(vec![AllowedNames { scope: Scope::User, patterns }]);
    desired
}

/// As a reload derives it: the edited entry is a new value, the others are the ones of before.
fn with_one_edit(old: &Desired) -> Desired {
    let mut new = old.clone();
    let edited = old.servers.len() / 2;
    new.servers.insert(name(edited), Entry::Valid(spec(edited, "--edited")));
    new
}

fn live(desired: &Desired) -> LiveView<'_> {
    let valid = desired.servers.iter().filter_map(|(name, entry)| match entry {
        Entry::Valid(spec) => Some((name, spec)),
        Entry::Invalid(_) => None,
    });
    valid.collect()
}

fn admission(c: &mut Criterion) {
    let mut group = c.benchmark_group("admission");
    for count in SIZES {
        let desired = desired(count);
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter(|| admit(black_box(&desired), &LaunchBound::Unbounded));
        });
    }
}

fn plan_of_one_change(c: &mut Criterion) {
    let mut group = c.benchmark_group("plan");
    let memory = vec![1; MORE_THAN_CACHED];
    for count in SIZES {
        let old = desired(count);
        let (new, live) = (with_one_edit(&old), live(&old));
        // An old entry has its fingerprint from the plan that opened it.
        for spec in live.values() {
            black_box(spec.fingerprint());
        }
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter_batched(
                || after_other_work(&memory),
                // Verdicts are spent by the plan, as in a session.
                |()| plan(admit(black_box(&new), &LaunchBound::Unbounded), black_box(&live)),
                BatchSize::PerIteration,
            );
        });
    }
}

fn fingerprint(c: &mut Criterion) {
    let mut group = c.benchmark_group("fingerprint");
    for count in SIZES {
        let specs: Vec<_> = (0..count).map(|index| spec(index, "")).collect();
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter(|| {
                for spec in &specs {
                    black_box(Fingerprint::of(spec.wire()));
                }
            });
        });
    }
}

fn catalogue(c: &mut Criterion) {
    let mut group = c.benchmark_group("catalogue");
    for count in SIZES {
        let offers = Offers::of((0..count).map(name), 5);
        group.bench_function(BenchmarkId::from_parameter(count), |b| b.iter(|| black_box(&offers).fold()));
    }
}

criterion_group!(benches, admission, plan_of_one_change, fingerprint, catalogue);
criterion_main!(benches);
