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
