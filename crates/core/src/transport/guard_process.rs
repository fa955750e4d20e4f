//! What does the guard process itself do? Owns its whole life: read groups, kill what is left at the end of input.
//! It must stay tiny: it knows no runtime, no server and no setting.

use std::{
    collections::HashSet,
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
        for group in left_over(io::stdin().lock()) {
            kill_group(group);
        }
        std::process::exit(0);
    }
}

/// The groups that were announced and not taken back by the end of the input.
fn left_over(mut input: impl BufRead) -> HashSet<Pid> {
    let mut groups = HashSet::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        match input.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return groups,
            Ok(_) => apply(&line, &mut groups),
        }
    }
}

fn apply(line: &[u8], groups: &mut HashSet<Pid>) {
    // Half a line is what a child wrote that was killed in the middle: better ignored than taken for another number.
    let Some(line) = line.strip_suffix(b"\n") else { return };
    let Some((sign, digits)) = line.split_first() else { return };
    let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<i32>().ok());
    // 0 and 1 would be our own group and everybody.
    let Some(group) = number.filter(|number| *number > 1).and_then(Pid::from_raw) else { return };
    match sign {
        b'+' => {
            groups.insert(group);
        }
        b'-' => {
            groups.remove(&group);
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_announced_and_not_taken_back_is_left_over() {
        let cases: [(&str, &[i32]); 7] = [
            ("", &[]),
            ("+10\n", &[10]),
            ("+10\n+11\n-10\n", &[11]),
            ("+10\n+10\n-10\n", &[]),
            ("+1\n+0\n+-5\nx\n\n+\n+9999999999\n", &[]),
            ("+10\n+11", &[10]),
            ("-10\n+10\n", &[10]),
        ];
        for (input, expected) in cases {
            let mut left: Vec<i32> =
                left_over(input.as_bytes()).iter().map(|pid| pid.as_raw_nonzero().get()).collect();
            left.sort_unstable();
            assert_eq!(left, expected, "{input:?}");
        }
    }
}
