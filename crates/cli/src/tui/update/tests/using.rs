//! What happens to calls that run, one or several?

use super::*;

#[test]
fn a_call_is_cancelled_by_esc_and_by_ctrl_c_and_only_once() {
    for code in [Some(KeyCode::Esc), None] {
        let mut state = session(80, 24);
        let effects = enters(&mut state, "/call a b {\"x\": 1}", NOW);
        let Some(Effect::Use(id, Wish::Call(words))) = effects.last() else { panic!("{effects:?}") };
        assert_eq!(words.join("|"), "a|b|{\"x\": 1}");
        let id = *id;
        let effects = match code {
            Some(code) => press(&mut state, code, NOW),
            None => control(&mut state, 'c', NOW),
        };
        assert!(matches!(&effects[..], [Effect::Cancel(cancelled)] if *cancelled == id));
        let effects = press(&mut state, KeyCode::Esc, NOW);
        assert!(effects.is_empty(), "{effects:?}");
    }
}

#[test]
fn a_ctrl_c_that_interrupts_a_call_is_none_of_the_two_that_end_the_session() {
    let mut state = session(80, 24);
    enters(&mut state, "/call a one", NOW);
    enters(&mut state, "/call a two", NOW);
    for n in 0..2 {
        let effects = control(&mut state, 'c', NOW + n);
        assert!(matches!(&effects[..], [Effect::Cancel(_)]), "{effects:?}");
        assert!(!shown(&state).contains("press Ctrl-C again"));
    }
    assert!(control(&mut state, 'c', NOW + 2).is_empty());
    assert!(shown(&state).contains("press Ctrl-C again"));
    assert!(matches!(&control(&mut state, 'c', NOW + 3)[..], [Effect::Quit(EndReason::Interrupt)]));
}

#[test]
fn of_several_calls_each_result_names_its_call_and_one_alone_needs_no_name() {
    let mut state = session(80, 24);
    let ends = |state: &mut State, id: u64, text: &str| {
        update(state, Event::Ended(UseId(id), vec![Line::new(Tone::Normal, text)]), NOW);
    };
    enters(&mut state, "/call a one", NOW);
    enters(&mut state, "/call a two", NOW);
    told(&mut state);
    ends(&mut state, 2, "second");
    // It ran beside the other one, though it does not any more.
    ends(&mut state, 1, "first");
    assert_eq!(told(&mut state), ["call a two:", "second", "call a one:", "first"]);
    enters(&mut state, "/call a three", NOW);
    ends(&mut state, 3, "third");
    assert_eq!(told(&mut state), ["> /call a three", "third"]);
}
