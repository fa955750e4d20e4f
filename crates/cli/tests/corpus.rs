//! Do the properties that are fuzzed hold for every file of the corpus? So that what was found once stays found.

#[path = "../../../fuzz/src/lib.rs"]
#[expect(
    unreachable_pub,
    clippy::expect_used,
    reason = "the fuzz targets use it as a library, and fail by panicking"
)]
mod properties;

use std::{fs, path::Path};

#[expect(clippy::expect_used, reason = "tests fail by panicking")]
fn each_of(corpus: &str, property: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(corpus);
    let mut count = 0;
    for file in fs::read_dir(folder).expect("the corpus is part of the repository") {
        let file = file.expect("its folder can be listed").path();
        eprintln!("{}", file.display());
        property(&fs::read(&file).expect("its files can be read"));
        count += 1;
    }
    assert!(count > 5, "only {count} files");
}

#[test]
fn any_file_of_the_corpus_is_read_the_same_twice_and_a_broken_one_changes_nothing() {
    each_of("reader", properties::reader);
}

#[test]
fn any_two_documents_of_the_corpus_are_compared_by_meaning() {
    each_of("diff", properties::diff);
}
