//! What does asking for decisions cost? The approval hash of 10, 1,000 and 10,000 entries.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use qwen_approvals::{Dialect, approval_hash};
use serde_json::{Value, json};

const SIZES: [usize; 3] = [10, 1_000, 10_000];

fn entry(index: usize) -> Value {
    json!({
        "command": "node",
        "args": ["server.js", "--index", index.to_string()],
        "env": { "TOKEN": "${TOKEN}" },
    })
}

fn hash(c: &mut Criterion) {
    let mut group = c.benchmark_group("approval-hash");
    for count in SIZES {
        let entries: Vec<_> = (0..count).map(entry).collect();
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter(|| {
                for entry in &entries {
                    black_box(approval_hash(entry, Dialect::McpJson));
                }
            });
        });
    }
}

criterion_group!(benches, hash);
criterion_main!(benches);
