use proptest::prelude::*;

use super::*;

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Plays events at these times and gives the times at which the disk is read.
fn looks(debounce: u64, events: &[u64]) -> Vec<u64> {
    let mut batch = Batch::new(ms(debounce));
    let mut looks = Vec::new();
    let look_until = |batch: &mut Batch, until: Option<Duration>, looks: &mut Vec<u64>| {
        while let Some(due) = batch.due().filter(|&due| until.is_none_or(|until| due <= until)) {
            batch.looking(due);
            looks.push(u64::try_from(due.as_millis()).unwrap());
        }
    };
    for &at in events {
        look_until(&mut batch, Some(ms(at)), &mut looks);
        batch.touched(ms(at));
    }
    look_until(&mut batch, None, &mut looks);
    looks
}

#[test]
fn a_burst_is_read_once_when_it_is_over() {
    let table: [(&str, u64, &[u64], &[u64]); 9] = [
        ("nothing", 300, &[], &[]),
        ("one save", 300, &[0], &[300]),
        ("vim's burst", 300, &[0, 1, 2, 32, 33, 34], &[334]),
        ("two halves", 300, &[0, 200], &[500]),
        ("two saves apart", 300, &[0, 301], &[300, 601]),
        ("an event at the very end belongs to the next batch", 300, &[0, 300], &[300, 600]),
        ("at once", 0, &[0, 5, 90], &[0, 5, 90]),
        ("a long debounce", 5000, &[0, 4000], &[9000]),
        ("a long debounce has a ceiling of twice its length", 5000, &[0, 4000, 8000, 9999], &[10_000]),
    ];
    for (what, debounce, events, expected) in table {
        assert_eq!(looks(debounce, events), expected, "{what}");
    }
}

#[test]
fn twenty_saves_within_one_debounce_are_read_exactly_once() {
    let saves: Vec<u64> = (0..20).map(|n| n * 14).collect();
    assert_eq!(looks(300, &saves), [19 * 14 + 300]);
}

#[test]
fn a_file_saved_every_100_ms_for_6_s_is_read_at_least_every_2500_ms() {
    let saves: Vec<u64> = (0..=60).map(|n| n * 100).collect();
    assert_eq!(looks(300, &saves), [2000, 4000, 6000, 6300]);
}

#[test]
fn a_new_debounce_holds_from_the_next_batch() {
    let mut batch = Batch::new(ms(300));
    batch.touched(ms(0));
    batch.set_debounce(ms(1000));
    batch.touched(ms(100));
    assert_eq!(batch.due(), Some(ms(400)));
    batch.looking(ms(400));
    batch.touched(ms(500));
    assert_eq!(batch.due(), Some(ms(1500)));
}

#[test]
fn a_second_look_does_not_end_a_burst_that_is_still_going_on() {
    let mut batch = Batch::new(ms(300));
    batch.look_again(ms(450));
    batch.touched(ms(400));
    assert_eq!(batch.due(), Some(ms(450)));
    batch.looking(ms(450));
    assert_eq!(batch.due(), Some(ms(700)));
}

#[test]
fn of_two_second_looks_the_earlier_one_counts() {
    let mut batch = Batch::new(ms(300));
    batch.look_again(ms(500));
    batch.look_again(ms(450));
    batch.look_again(ms(600));
    assert_eq!(batch.due(), Some(ms(450)));
}

proptest! {
    #[test]
    fn every_event_is_read_in_time_and_no_two_looks_are_closer_than_the_debounce(
        debounce in 0_u64..=5000,
        gaps in prop::collection::vec(0_u64..3000, 1..60),
    ) {
        let events: Vec<u64> = gaps
            .iter()
            .scan(0, |at, gap| {
                *at += gap;
                Some(*at)
            })
            .collect();
        let looks = looks(debounce, &events);
        let longest = u64::try_from(ceiling(ms(debounce)).as_millis()).unwrap();
        for event in &events {
            prop_assert!(
                looks.iter().any(|look| (*event..=event + longest).contains(look)),
                "the event at {event} is not read within {longest}: {looks:?}"
            );
        }
        for pair in looks.windows(2) {
            prop_assert!(pair[1] - pair[0] >= debounce, "{looks:?}");
        }
        prop_assert!(looks.len() <= events.len());
    }
}
