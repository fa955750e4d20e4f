use proptest::prelude::*;

use super::*;

fn all(pieces: &[&[u8]]) -> (Vec<(String, String)>, Assembler) {
    let mut assembler = Assembler::default();
    let mut events = Vec::new();
    for piece in pieces {
        events.extend(assembler.push(piece).unwrap().into_iter().map(|event| (event.name, event.data)));
    }
    (events, assembler)
}

fn data(text: &str) -> Vec<String> {
    all(&[text.as_bytes()]).0.into_iter().map(|(_, data)| data).collect()
}

#[test]
fn lines_of_data_are_joined_and_every_line_end_counts() {
    for (text, expected) in [
        ("data: a\ndata: b\ndata: c\n\n", vec!["a\nb\nc"]),
        ("data: a\r\n\r\ndata: b\r\n\r\n", vec!["a", "b"]),
        ("data: a\r\rdata: b\r\r", vec!["a", "b"]),
        ("data: a\r\n\ndata: b\n\r\n", vec!["a", "b"]),
        (": ping\n\ndata: a\n: ping\n\n", vec!["a"]),
        ("\u{feff}data: a\n\n", vec!["a"]),
        ("data\n\n", vec![""]),
        ("data:  two blanks\n\n", vec![" two blanks"]),
        ("nonsense\nfoo: bar\ndata: a\n\n", vec!["a"]),
        ("data: never ended\n", vec![]),
        ("\n\n\n", vec![]),
    ] {
        assert_eq!(data(text), expected, "{text:?}");
    }
}

#[test]
fn a_place_counts_once_its_event_is_complete_and_hints_count_at_once() {
    let (events, assembler) = all(&[b"id: 1\ndata: a\n\nid: 2\nretry: 1500\ndata: b\n"]);
    assert_eq!(events.len(), 1);
    assert_eq!(assembler.last_id(), Some("1"));
    assert_eq!(assembler.retry(), Some(Duration::from_millis(1500)));

    // A place without data is one too; an empty one takes it back, one with a NUL byte is none.
    assert_eq!(all(&[b"id: 7\n\n"]).1.last_id(), Some("7"));
    assert_eq!(all(&[b"id: 7\n\nid:\n\n"]).1.last_id(), None);
    assert_eq!(all(&[b"id: 7\n\nid: a\0b\n\n"]).1.last_id(), Some("7"));
    assert_eq!(all(&[b"retry: soon\n\nretry: -1\n\nretry:\n\n"]).1.retry(), None);
}

#[test]
fn an_event_names_itself_or_is_a_message() {
    let (events, _) = all(&[b"event: endpoint\ndata: /m\n\ndata: x\n\nevent: lost\n\ndata: y\n\n"]);
    let expected = [("endpoint", "/m"), ("message", "x"), ("message", "y")];
    assert_eq!(events, expected.map(|(name, data)| (name.to_owned(), data.to_owned())));
}

#[test]
fn an_event_over_the_limit_is_refused_in_one_line_or_in_many() {
    let line = vec![b'x'; LARGEST + 1];
    assert_eq!(Assembler::default().push(&line), Err(TooLarge));
    let mut assembler = Assembler::default();
    let mut piece = b"data: ".to_vec();
    piece.resize(1024 * 1024, b'x');
    piece.push(b'\n');
    assert!((0..16).all(|_| assembler.push(&piece).is_ok()));
    assert_eq!(assembler.push(&piece), Err(TooLarge));
    // Comments are not kept.
    let mut assembler = Assembler::default();
    piece[0] = b':';
    assert!((0..40).all(|_| assembler.push(&piece).is_ok()));
}

proptest! {
    #[test]
    fn it_does_not_matter_where_the_bytes_are_split(
        lines in proptest::collection::vec(
            prop_oneof![
                Just("data: ä😀語".to_owned()), Just("data".to_owned()), Just(":ping".to_owned()), Just(String::new()),
                Just("event: endpoint".to_owned()), Just("id: 9".to_owned()), "[a-z:é ]{0,8}",
            ], 0..20),
        ends in proptest::collection::vec(prop_oneof![Just("\n"), Just("\r"), Just("\r\n")], 20),
        cuts in proptest::collection::vec(0.0..1.0f64, 0..12),
    ) {
        let text: String = lines.iter().zip(&ends).map(|(line, end)| format!("{line}{end}")).collect();
        let bytes = text.as_bytes();
        let mut at: Vec<usize> = cuts.iter().map(|cut| (cut * bytes.len() as f64) as usize).collect();
        at.extend([0, bytes.len()]);
        at.sort_unstable();
        let pieces: Vec<&[u8]> = at.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        let (split, one) = (all(&pieces), all(&[bytes]));
        prop_assert_eq!(&split.0, &one.0);
        prop_assert_eq!(split.1.last_id(), one.1.last_id());
        let each: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(all(&each).0, one.0);
    }
}
