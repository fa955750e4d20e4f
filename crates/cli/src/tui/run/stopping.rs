//! May this process stop itself, or would nobody wake it up? Its group may be stopped where a process outside of the
//! group, in the same session, started it: that is who watches for jobs. It stops nothing.

use rustix::process::{Pid, getpgid, getpid, getppid, getsid};

/// What is known of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Place {
    parent: Option<Pid>,
    group: Pid,
    session: Pid,
}

/// Whether somebody is there who can wake up the group of this process.
pub(super) fn somebody_wakes_us() -> bool {
    is_watched(getpid(), place)
}

/// Goes up from a process to the first that is outside of its group; where that is of the session, it watches.
fn is_watched(this: Pid, place: impl Fn(Pid) -> Option<Place>) -> bool {
    let Some(here) = place(this) else { return false };
    let mut at = here;
    // As deep as a tree of processes can be for all that matters; a loop in what is read ends here too.
    for _ in 0..64 {
        let Some(above) = at.parent.and_then(&place) else { return false };
        if above.session != here.session {
            return false;
        }
        if above.group != here.group {
            return true;
        }
        at = above;
    }
    false
}

fn place(pid: Pid) -> Option<Place> {
    let parent = if pid == getpid() { getppid() } else { parent_of(pid) };
    Some(Place { parent, group: getpgid(Some(pid)).ok()?, session: getsid(Some(pid)).ok()? })
}

/// As `/proc` says it; where there is none, only the parent of this process is known.
fn parent_of(pid: Pid) -> Option<Pid> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name of the program stands in brackets and may hold anything.
    let (_, behind) = text.rsplit_once(')')?;
    Pid::from_raw(behind.split_whitespace().nth(1)?.parse().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_stopped_only_where_somebody_of_its_session_watches_it() {
        let pid = |number| Pid::from_raw(number).unwrap();
        let place = |parent, group, session| Place {
            parent: Pid::from_raw(parent),
            group: pid(group),
            session: pid(session),
        };
        // A shell 10, `bash -c` 20, the program 21; each row says where these three are.
        let table = [
            ("under a shell, in a wrapper", [place(1, 10, 10), place(10, 20, 10), place(20, 20, 10)], true),
            ("under a shell, by itself", [place(1, 10, 10), place(10, 20, 10), place(20, 21, 10)], true),
            (
                "the wrapper leads the session",
                [place(1, 10, 10), place(10, 20, 20), place(20, 20, 20)],
                false,
            ),
            ("the shell is gone", [place(1, 10, 10), place(1, 20, 10), place(20, 20, 10)], false),
            ("it leads the session", [place(1, 10, 10), place(10, 20, 20), place(20, 21, 21)], false),
        ];
        for (what, [shell, wrapper, program], expected) in table {
            let found = is_watched(pid(21), |asked| match asked.as_raw_nonzero().get() {
                1 => Some(Place { parent: None, group: pid(1), session: pid(1) }),
                10 => Some(shell),
                20 => Some(wrapper),
                21 => Some(program),
                _ => None,
            });
            assert_eq!(found, expected, "{what}");
        }
    }

    #[test]
    fn the_parent_of_a_process_is_read() {
        if std::path::Path::new("/proc/self/stat").exists() {
            assert_eq!(parent_of(getpid()), getppid());
        }
    }
}
