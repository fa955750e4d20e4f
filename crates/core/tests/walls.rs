//! Can anybody outside core open a connection that the gate did not let through? The compiler says no, and the
//! samples below hold it to that. Their twin is compiled into this test, so that they fail for the right reason.

#[path = "walls/opens_with_an_admission.rs"]
mod twin;

#[test]
fn nobody_opens_a_connection_without_an_admission() {
    let _: twin::OpenAll = twin::open_all;
    let samples = trybuild::TestCases::new();
    samples.compile_fail("tests/walls/makes_an_admission_up.rs");
    samples.compile_fail("tests/walls/makes_an_admission_from_nothing.rs");
    samples.compile_fail("tests/walls/copies_an_admission.rs");
    samples.compile_fail("tests/walls/spends_an_admission_twice.rs");
}
