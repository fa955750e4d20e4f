//! A short run of the soak; `cargo xtask soak` runs a long one.

use std::time::Duration;

#[test]
fn after_random_edits_kills_hangs_and_floods_live_equals_desired_and_nothing_is_left() {
    let done = qwen_tests::soak(20_261_130, Duration::from_secs(8));
    assert!(done.quiet_points >= 3 && done.steps > 5, "{done:?}");
}
