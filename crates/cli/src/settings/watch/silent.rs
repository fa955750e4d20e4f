//! Does the file system of a folder tell of changes that others make? One question to the operating system; it must
//! not know who asks.

use std::path::Path;

/// The kind of file system that holds a folder, where changes made by another machine, or behind the kernel's back,
/// give no event: network and user-space file systems.
#[cfg(target_os = "linux")]
pub(super) fn name(folder: &Path) -> Option<&'static str> {
    let found = rustix::fs::statfs(folder).ok()?;
    // The type is a C integer whose width and sign depend on the architecture; its low 32 bits are the number.
    let number = u64::try_from(found.f_type & 0xffff_ffff).ok()?;
    kind(number)
}

/// Other systems are not asked.
#[cfg(not(target_os = "linux"))]
pub(super) fn name(_folder: &Path) -> Option<&'static str> {
    None
}

/// By the numbers of `statfs(2)` and `linux/magic.h`.
#[cfg(target_os = "linux")]
fn kind(number: u64) -> Option<&'static str> {
    match number {
        0x6969 => Some("NFS"),
        0x517B | 0xFF53_4D42 | 0xFE53_4D42 => Some("SMB"),
        0x0102_1997 => Some("9p"),
        0x6573_5546 => Some("FUSE"),
        _ => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn network_and_user_space_file_systems_are_silent_and_local_ones_are_not() {
        for (number, expected) in [
            (0x6969, Some("NFS")),
            (0xFF53_4D42, Some("SMB")),
            (0xFE53_4D42, Some("SMB")),
            (0x0102_1997, Some("9p")),
            (0x6573_5546, Some("FUSE")),
            (0xEF53, None),
            (0x0102_1994, None),
            (0x9123_683E, None),
            (0x5846_5342, None),
        ] {
            assert_eq!(kind(number), expected, "{number:#x}");
        }
        assert_eq!(name(Path::new("/proc")), None);
    }

    #[test]
    fn a_folder_that_is_not_there_is_not_silent() {
        assert_eq!(name(Path::new("/nonexistent/folder")), None);
    }
}
