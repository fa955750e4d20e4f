//! What do merging three files and comparing two cost for 10, 1,000 and 10,000 servers? `cargo xtask bench` reads the
//! medians and holds them to their ratios.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use qwen_settings_schema::{Layer, SettingsScope, changed_leaves, merge};
use serde_json::{Map, Value, json};

const SIZES: [usize; 3] = [10, 1_000, 10_000];

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
    let document = json!({ "ui": { "theme": "dark" }, "mcp": { "excluded": ["other-*"] }, "mcpServers": servers });
    // It lies in memory as one that was read from a file.
    document.to_string().parse().unwrap_or_default()
}

fn merge_three_files(c: &mut Criterion) {
    let mut group = c.benchmark_group("merge");
    for count in SIZES {
        let user = document(count, None);
        let workspace = document(count / 10, Some(0));
        let system = json!({ "mcp": { "allowed": ["server-*"] } });
        let layers = [
            Layer { scope: SettingsScope::User, root: &user },
            Layer { scope: SettingsScope::Workspace, root: &workspace },
            Layer { scope: SettingsScope::System, root: &system },
        ];
        group.bench_function(BenchmarkId::from_parameter(count), |b| b.iter(|| merge(black_box(&layers))));
    }
}

fn diff_of_one_change(c: &mut Criterion) {
    let mut group = c.benchmark_group("diff");
    for count in SIZES {
        let (old, new) = (document(count, None), document(count, Some(count / 2)));
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter(|| changed_leaves(black_box(&old), black_box(&new)));
        });
    }
}

criterion_group!(benches, merge_three_files, diff_of_one_change);
criterion_main!(benches);
