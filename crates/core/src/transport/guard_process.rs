//! What does the guard process itself do? Owns its whole life: read groups, kill what is left at the end of input.
//! It must stay tiny: it knows no runtime, no server and no setting.

use std::{
    collections::HashMap,
    ffi::OsString,
    io::{self, BufRead},
};

use rustix::process::Pid;

use super::guard::kill_group;

/// The one argument that makes the executable the guard.
pub(super) const GUARD_WORD: &str = "__guard";

/// Becomes the guard process, and never returns, when the first argument asks for it. Call it first thing in `main`,
/// before any thread or runtime exists, with `std::env::args_os()`.
///
/// ```
/// qwen_core::run_guard_if_asked(["qwen".into(), "mcp".into()]);
/// // Not asked: the program goes on.
/// ```
pub fn run_guard_if_asked(args: impl IntoIterator<Item = OsString>) {
    if args.into_iter().nth(1).is_some_and(|word| word == GUARD_WORD) {
        for group in left_over(io::stdin().lock()).into_keys() {
            kill_group(group);
        }
        std::process::exit(0);
    }
}

/// The groups that were announced and not taken back by the end of the input, and the start that each belongs to.
///
/// - `+PGID START`: the group lives. A child says so itself, before it becomes the server.
/// - `-PGID`: nothing is left of the group.
/// - `!START`: nothing came of that start, so the number of its child may be anybody's.
fn left_over(mut input: impl BufRead) -> HashMap<Pid, u64> {
    let mut groups = HashMap::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return groups,
            Ok(_) => apply(&line, &mut groups),
        }
    }
}

fn apply(line: &[u8], groups: &mut HashMap<Pid, u64>) {
    // Half a line is what a child wrote that was killed in the middle: better ignored than taken for another number.
    let Some(line) = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok()) else { return };
    if let Some((group, start)) = line.strip_prefix('+').and_then(|rest| rest.split_once(' ')) {
        if let (Some(group), Ok(start)) = (pid(group), start.parse()) {
            groups.insert(group, start);
        }
    } else if let Some(group) = line.strip_prefix('-').and_then(pid) {
        groups.remove(&group);
    } else if let Some(failed) = line.strip_prefix('!').and_then(|start| start.parse::<u64>().ok()) {
        groups.retain(|_, start| *start != failed);
    }
}

/// 0 and 1 would be our own group and everybody.
fn pid(digits: &str) -> Option<Pid> {
    digits.parse::<i32>().ok().filter(|number| *number > 1).and_then(Pid::from_raw)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_announced_and_not_taken_back_is_left_over() {
        let cases: [(&str, &[i32]); 9] = [
            ("", &[]),
            ("+10 1\n", &[10]),
            ("+10 1\n+11 2\n-10\n", &[11]),
            ("+10 1\n+10 2\n-10\n", &[]),
            ("+1 1\n+0 1\n+-5 1\nx\n\n+\n+9999999999 1\n+10\n", &[]),
            ("+10 1\n+11 1", &[10]),
            ("-10\n+10 1\n", &[10]),
            ("+10 1\n+11 2\n!1\n", &[11]),
            ("+10 1\n!2\n!x\n", &[10]),
        ];
        for (input, expected) in cases {
            let mut left: Vec<i32> =
                left_over(input.as_bytes()).keys().map(|pid| pid.as_raw_nonzero().get()).collect();
            left.sort_unstable();
            assert_eq!(left, expected, "{input:?}");
        }
    }
}
