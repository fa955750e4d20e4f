//! How long until the first screen, and until a key is answered while much goes on? Prints its numbers; the bounds are
//! those of the product in a release build, and looser ones in a debug build.

use std::time::{Duration, Instant};

use qwen_tests::{Sandbox, stated, wait_until};
use serde_json::{Map, json};

use super::glass::Glass;

fn fifty_servers(sandbox: &Sandbox) -> Map<String, serde_json::Value> {
    (0..50)
        .map(|number| {
            let name = format!("s{number:02}");
            (name.clone(), sandbox.fake(&name, &["--tools", "5"]))
        })
        .collect()
}

/// The bound of a release build; a debug build gets ten times as much.
fn bound(release: Duration) -> Duration {
    stated(if cfg!(debug_assertions) { release * 10 } else { release })
}

#[test]
fn the_first_screen_is_there_before_fifty_servers_are() {
    let sandbox = Sandbox::new();
    sandbox.user_servers(&json!(fifty_servers(&sandbox)));
    let mut times: Vec<Duration> = (0..5)
        .map(|_| {
            let begun = Instant::now();
            let mut glass = Glass::start(&sandbox, &[]);
            let end = begun + Duration::from_secs(20);
            while !glass.screen().contains('>') {
                assert!(Instant::now() < end, "no screen");
                std::thread::yield_now();
            }
            let took = begun.elapsed();
            glass.types("\u{4}");
            glass.ended();
            took
        })
        .collect();
    times.sort();
    println!("first screen: median {:?} of {times:?}", times[2]);
    assert!(times[2] < bound(Duration::from_millis(150)), "{times:?}");
}

#[test]
fn keys_are_answered_while_fifty_servers_connect_and_one_floods() {
    let sandbox = Sandbox::new();
    let mut servers = fifty_servers(&sandbox);
    let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
    let flood = ["--at", "ready", &format!("say-times 5000 {changed}")];
    servers.insert("flood".to_owned(), sandbox.fake("flood", &flood));
    sandbox.user_servers(&json!(servers));
    let mut glass = Glass::start(&sandbox, &[]);
    glass.shows(">");
    let mut times = Vec::new();
    let mut typed = String::new();
    for index in 0..200_u32 {
        let key = char::from_digit(index % 10, 10).expect("a digit");
        typed.push(key);
        if typed.len() > 40 {
            glass.types("\u{15}");
            typed = key.to_string();
        }
        let begun = Instant::now();
        glass.types(&key.to_string());
        let line = format!("> {typed}");
        wait_until(Duration::from_secs(20), "the key", || {
            glass.screen().lines().any(|row| row == line).then_some(())
        });
        times.push(begun.elapsed());
    }
    times.sort();
    let (median, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!("key to echo, harness included: median {median:?}, p99 {p99:?}");
    assert!(p99 < bound(Duration::from_millis(100)), "{p99:?}");
    glass.types("\u{15}\u{4}");
    assert_eq!(glass.ended(), 0);
}
