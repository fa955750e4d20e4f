//! What do merging three files with one changed server, and comparing two, cost for 10, 1,000 and 10,000 servers?
//! `cargo xtask bench` reads the medians and holds them to their ratios.

use std::hint::black_box;

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use qwen_settings_schema::{Layer, SettingsScope, changed_leaves, merge};
use serde_json::{Map, Value, json};

const SIZES: [usize; 3] = [10, 1_000, 10_000];

/// More than the caches of a processor hold.
const MORE_THAN_CACHED: usize = 64 << 20;

/// Leaves the caches as a reload finds them: between two edits the processor did other things. Without this, small sizes
/// would be measured from a cache that no reload has, and large ones not.
fn after_other_work(memory: &[u8]) {
    black_box(memory.iter().step_by(64).map(|byte| u64::from(*byte)).sum::<u64>());
}

fn document(count: usize, edited: Option<usize>) -> Value {
    let servers: Map<String, Value> = (0..count)
        .map(|index| {
            let edit = if edited == Some(index) { "--edited" } else { "--plain" };
            let entry = json!({
                "command": "node",
                "args": ["server.js", "--index", index.to_string(), edit],
                "env": { "TOKEN": "${TOKEN}" },
                "timeout": 60_000,
            });
            (format!("server-{index:05}"), entry)
        })
        .collect();
    json!({ "ui": { "theme": "dark" }, "mcp": { "excluded": ["other-*"] }, "mcpServers": servers })
}

fn merge_three_files(c: &mut Criterion) {
    let mut group = c.benchmark_group("merge");
    let memory = vec![1; MORE_THAN_CACHED];
    for count in SIZES {
        let user = document(count, None);
        let workspace = document(count / 10, Some(0));
        let system = json!({ "mcp": { "allowed": ["server-*"] } });
        let layers = [
            Layer { scope: SettingsScope::User, root: &user },
            Layer { scope: SettingsScope::Workspace, root: &workspace },
            Layer { scope: SettingsScope::System, root: &system },
        ];
        let changed = format!("server-{:05}", count / 2);
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter_batched(
                || after_other_work(&memory),
                |()| {
                    let merged = merge(black_box(&layers));
                    black_box(merged.get(&["mcpServers", &changed]));
                    merged
                },
                BatchSize::PerIteration,
            );
        });
    }
}

fn diff_of_one_change(c: &mut Criterion) {
    let mut group = c.benchmark_group("diff");
    let memory = vec![1; MORE_THAN_CACHED];
    for count in SIZES {
        let (old, new) = (document(count, None), document(count, Some(count / 2)));
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter_batched(
                || after_other_work(&memory),
                |()| changed_leaves(black_box(&old), black_box(&new)),
                BatchSize::PerIteration,
            );
        });
    }
}

criterion_group!(benches, merge_three_files, diff_of_one_change);
criterion_main!(benches);
