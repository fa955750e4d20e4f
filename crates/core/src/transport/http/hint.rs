//! How long does a server ask us to wait? Owns the two forms of `Retry-After` (RFC 9110, 10.2.3); pure.

use std::time::Duration;

/// The wait, from a number of seconds or a date. `now` is in seconds since 1970-01-01 UTC. A date that has passed is no
/// wait; nonsense is `None`.
pub(crate) fn retry_after(value: &str, now: u64) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    date(value).map(|at| Duration::from_secs(at.saturating_sub(now)))
}

/// `Sun, 06 Nov 1994 08:49:37 GMT`, the one form that may still be generated.
fn date(text: &str) -> Option<u64> {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let (_, rest) = text.split_once(", ")?;
    let mut words = rest.split(' ');
    let day: u64 = words.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let name = words.next()?;
    let month = MONTHS.iter().position(|month| *month == name)? as u64 + 1;
    let year: u64 = words.next()?.parse().ok().filter(|year| (1970..=9999).contains(year))?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<u64>().ok().filter(|part| *part < 61));
    let (hours, minutes, seconds) = (clock.next()??, clock.next()??, clock.next()??);
    if words.next() != Some("GMT") || words.next().is_some() || clock.next().is_some() {
        return None;
    }
    Some(days(year, month, day) * 86_400 + hours * 3600 + minutes * 60 + seconds)
}

/// Days since 1970-01-01. Years begin in March here, so that a leap day is the last of its year.
fn days(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let before = year * 365 + year / 4 - year / 100 + year / 400;
    before + (month * 153 + 2) / 5 + day - 1 - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_and_dates_are_waits_and_nonsense_is_none() {
        let now = 784_111_777; // 1994-11-06 08:49:37
        for (value, wait) in [
            ("0", Some(0)),
            (" 120 ", Some(120)),
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(0)),
            ("Sun, 06 Nov 1994 08:50:37 GMT", Some(60)),
            ("Sat, 05 Nov 1994 08:49:37 GMT", Some(0)),
            ("Thu, 29 Feb 1996 00:00:00 GMT", Some(825_552_000 - now)),
            ("Fri, 01 Mar 1996 00:00:00 GMT", Some(825_638_400 - now)),
            ("99999999999999999999999", Some(u64::MAX)),
            ("", None),
            ("-1", None),
            ("soon", None),
            ("Sun, 06 Nov 1994 08:49:37 CET", None),
            ("Sun, 06 Nov 0094 08:49:37 GMT", None),
            ("Sunday, 06-Nov-94 08:49:37 GMT", None),
        ] {
            assert_eq!(retry_after(value, now), wait.map(Duration::from_secs), "{value}");
        }
    }
}
