//! How is a moment written in the record?
//!
//! Owns the RFC 3339 text (UTC, milliseconds). Must not know a clock: the moment comes in as a value.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A moment as RFC 3339 in UTC, such as `2026-11-30T12:00:00.000Z`. A moment before 1970 counts as 1970.
pub(crate) fn rfc3339(moment: SystemTime) -> String {
    let since = moment.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    let seconds = since.as_secs();
    let (year, month, day) = date_of(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let millis = since.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

/// The text of a stored moment, if it has the shape of one: it is shown to people and to programs, so nothing else
/// that a file may hold passes as a time.
pub(crate) fn checked(text: &str) -> Option<String> {
    let shape: String =
        text.chars().map(|character| if character.is_ascii_digit() { '0' } else { character }).collect();
    let rest = shape.strip_prefix("0000-00-00T00:00:00")?;
    let zone = match rest.strip_prefix('.') {
        Some(fraction) if fraction.starts_with('0') => fraction.trim_start_matches('0'),
        Some(_) => return None,
        None => rest,
    };
    matches!(zone, "Z" | "+00:00" | "-00:00").then(|| text.to_owned())
}

/// Year, month and day of a day number, 1970-01-01 being 0, in the Gregorian calendar. Counts in eras of 400 years
/// that begin on the first of March, so that the leap day is the last of its year.
fn date_of(day_number: u64) -> (u64, u64, u64) {
    let shifted = day_number + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    (year, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_rfc_3339() {
        // Made with `date -u -d @… +%FT%TZ`.
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_709_164_800, "2024-02-29T00:00:00.000Z"),
            (1_796_040_000, "2026-11-30T12:00:00.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ];
        for (seconds, text) in table {
            assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_secs(seconds)), text);
        }
        assert_eq!(rfc3339(UNIX_EPOCH + Duration::from_millis(1_007)), "1970-01-01T00:00:01.007Z");
    }

    #[test]
    fn only_a_moment_passes_as_a_stored_time() {
        for good in ["2026-11-30T12:00:00Z", "2026-11-30T12:00:00.123Z", "2026-11-30T12:00:00+01:00"] {
            assert_eq!(checked(good).as_deref(), Some(good));
        }
        for bad in
            ["", "yesterday", "2026-11-30", "2026-11-30T12:00:00", "2026-11-30T12:00:00.Z", "\u{1b}[31m"]
        {
            assert_eq!(checked(bad), None, "{bad}");
        }
    }
}
