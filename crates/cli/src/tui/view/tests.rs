use crossterm::event::KeyCode;
use qwen_core::{Connected, Connecting, Failure, FailureKind, Phase, Progress, Refusal, Scope, ServerName};
use ratatui::style::Style;

use super::{
    super::{
        dialog::{Detail, Dialog},
        event::{Size, UseId},
        help::Help,
        state::{Company, Course, Life, Running},
        testing::{NOW, catalogue, files_mean, press, rests, session, shown, types, waiting, with_servers},
    },
    *,
};
use crate::{fixtures, text::Paint};

fn connected(tools: usize) -> Phase {
    Phase::Connected(Connected {
        pid: Some(4711),
        tools,
        prompts: 1,
        resources: 1,
        warnings: vec![],
        unlisted: vec![],
    })
}

fn failed() -> Phase {
    let failure = Failure::new(FailureKind::Exited, "the process ended with exit code 1");
    Phase::Failed { failure, retry_at_unix_ms: Some(NOW + 7500) }
}

fn some_servers(state: &mut State) {
    with_servers(
        state,
        vec![
            (fixtures::row("gh", Scope::User), connected(3)),
            (fixtures::row("files", Scope::User), Phase::Connecting(Connecting::Handshake)),
            (fixtures::row("notes", Scope::Project), Phase::Refused(Refusal::PendingApproval)),
            (fixtures::row("数据库", Scope::Workspace), failed()),
            (fixtures::row("📦 box", Scope::System), Phase::Refused(Refusal::Disabled)),
        ],
    );
    let mut status = (*state.status).clone();
    status.removed.insert(ServerName::from("old"));
    status.catalogue = std::sync::Arc::new(catalogue());
    state.status = std::sync::Arc::new(status);
}

#[test]
fn the_first_screen_is_there_before_anything_is_known() {
    let mut state = session(80, 24);
    state.life = Life::Starting;
    insta::assert_snapshot!(shown(&state), @"
    >
    p  starting
    ");
}

#[test]
fn the_line_and_the_status_say_who_is_in_which_state() {
    let mut state = session(80, 24);
    some_servers(&mut state);
    types(&mut state, "/call 文字", NOW);
    insta::assert_snapshot!(shown(&state), @"
    > /call 文字
    p  1 connected · 1 connecting · 1 failed · 1 off
    ");
    let screen = view(&state, NOW);
    assert_eq!(screen.cursor, Cursor::At((12, 0).into()));
}

#[test]
fn every_state_has_a_page_that_says_cause_and_next_step() {
    for shown_state in fixtures::every_state() {
        let mut state = session(80, 24);
        with_servers(&mut state, vec![(shown_state.row, shown_state.phase)]);
        state.dialog = Some(Dialog::Detail(Detail::of(ServerName::from("gh"))));
        insta::with_settings!({ snapshot_suffix => shown_state.label }, {
            insta::assert_snapshot!("page", shown(&state));
        });
        state.dialog = Some(Dialog::List { chosen: None });
        insta::with_settings!({ snapshot_suffix => shown_state.label }, {
            insta::assert_snapshot!("list", shown(&state));
        });
    }
}

#[test]
fn states_that_only_a_running_session_sees_have_pages_too() {
    let states = [
        ("connecting", Phase::Connecting(Connecting::Handshake)),
        ("connecting_after_call", Phase::Connecting(Connecting::WaitingForCall)),
        ("failed_retried", failed()),
    ];
    for (label, phase) in states {
        let mut state = session(80, 24);
        with_servers(&mut state, vec![(fixtures::row("gh", Scope::User), phase)]);
        state.dialog = Some(Dialog::Detail(Detail::of(ServerName::from("gh"))));
        insta::with_settings!({ snapshot_suffix => label }, {
            insta::assert_snapshot!("page", shown(&state));
        });
    }
    let mut state = session(80, 24);
    some_servers(&mut state);
    state.dialog = Some(Dialog::Detail(Detail::of(ServerName::from("old"))));
    insta::with_settings!({ snapshot_suffix => "removed" }, {
        insta::assert_snapshot!("page", shown(&state));
    });
}

#[test]
fn the_list_groups_servers_by_scope_and_fits_small_and_large_screens() {
    for (columns, rows) in [(80, 24), (200, 60), (40, 10)] {
        let mut state = session(columns, rows);
        some_servers(&mut state);
        state.dialog = Some(Dialog::List { chosen: Some(ServerName::from("数据库")) });
        insta::with_settings!({ snapshot_suffix => format!("{columns}x{rows}") }, {
            insta::assert_snapshot!("servers", shown(&state));
        });
    }
}

#[test]
fn what_a_server_offers_is_listed_with_what_it_says_about_it() {
    let mut state = session(80, 24);
    some_servers(&mut state);
    state.dialog = Some(Dialog::Offers { detail: Detail::of(ServerName::from("gh")), scroll: 0 });
    insta::assert_snapshot!(shown(&state));
}

#[test]
fn the_question_shows_the_entry_in_full_and_can_be_scrolled_on_a_small_screen() {
    for (columns, rows) in [(80, 24), (200, 60), (60, 12)] {
        let mut state = session(columns, rows);
        files_mean(&mut state, waiting(&["notes", "工具"]), NOW);
        rests(&mut state, NOW);
        insta::with_settings!({ snapshot_suffix => format!("{columns}x{rows}") }, {
            insta::assert_snapshot!("question", shown(&state));
        });
    }
    let mut state = session(60, 12);
    files_mean(&mut state, waiting(&["notes"]), NOW);
    let later = rests(&mut state, NOW);
    for _ in 0..50 {
        press(&mut state, KeyCode::Down, later);
    }
    insta::assert_snapshot!("question_scrolled_to_its_end", shown(&state));
    press(&mut state, KeyCode::Up, later);
    assert!(shown(&state).contains("1 more below"), "{}", shown(&state));
}

#[test]
fn the_question_about_all_shows_every_entry() {
    let mut state = session(80, 40);
    files_mean(&mut state, waiting(&["notes", "tools"]), NOW);
    let later = rests(&mut state, NOW);
    press(&mut state, KeyCode::Left, later);
    press(&mut state, KeyCode::Left, later);
    press(&mut state, KeyCode::Enter, later);
    rests(&mut state, later);
    insta::assert_snapshot!(shown(&state));
}

#[test]
fn the_folder_is_asked_about_in_words() {
    let mut state = session(80, 24);
    let derived = crate::derive::Derived {
        folder_question: crate::derive::FolderQuestion::Ask,
        ..crate::derive::Derived::default()
    };
    files_mean(&mut state, derived, NOW);
    rests(&mut state, NOW);
    insta::assert_snapshot!(shown(&state));
}

#[test]
fn the_help_names_every_command_and_key() {
    let mut state = session(80, 40);
    state.help = Some(Help::default());
    insta::assert_snapshot!(shown(&state));
}

#[test]
fn a_long_call_shows_its_time_and_progress_and_how_to_cancel_it() {
    let mut state = session(80, 24);
    some_servers(&mut state);
    let progress = Progress { progress: 2.0, total: Some(10.0), message: Some("rea\u{1b}ding".to_owned()) };
    state.running.push(Running {
        id: UseId(1),
        label: "call mcp__gh__sleep".to_owned(),
        since: NOW - 3200,
        progress: Some(progress),
        course: Course::Going,
        company: Company::Alone,
    });
    state.running.push(Running {
        id: UseId(2),
        label: "prompt mcp__gh__greet".to_owned(),
        since: NOW,
        progress: None,
        course: Course::Cancelling,
        company: Company::Alone,
    });
    insta::assert_snapshot!(shown(&state), @r"
    >
    … call mcp__gh__sleep  3.2 s  2 of 10: rea\u{1b}ding  Esc cancels
    … prompt mcp__gh__greet  0.0 s  cancelling
    p  1 connected · 1 connecting · 1 failed · 1 off
    ");
}

#[test]
fn without_colour_no_cell_of_any_screen_is_styled() {
    let mut state = session(80, 24);
    some_servers(&mut state);
    let mut screens = vec![view(&state, NOW)];
    state.dialog = Some(Dialog::List { chosen: None });
    screens.push(view(&state, NOW));
    state.dialog = Some(Dialog::Detail(Detail::of(ServerName::from("gh"))));
    screens.push(view(&state, NOW));
    state.help = Some(Help::default());
    screens.push(view(&state, NOW));
    let plain = ratatui::buffer::Cell::default().style();
    for screen in screens {
        assert!(screen.buffer.content.iter().all(|cell| cell.style() == plain));
    }
    state.paint = Paint::Colour;
    let coloured = view(&state, NOW);
    assert!(coloured.buffer.content.iter().any(|cell| cell.style() != Style::reset()));
}

#[test]
fn no_screen_is_higher_or_wider_than_the_terminal() {
    for (columns, rows) in [(1, 1), (3, 2), (20, 5), (80, 24), (500, 3)] {
        let mut state = session(columns, rows);
        some_servers(&mut state);
        for dialog in [
            None,
            Some(Dialog::List { chosen: None }),
            Some(Dialog::Detail(Detail::of(ServerName::from("gh")))),
        ] {
            state.dialog = dialog;
            let screen = view(&state, NOW);
            assert_eq!(screen.buffer.area.width, columns);
            if rows >= 5 {
                assert!(screen.buffer.area.height < rows, "{columns}x{rows}");
            }
        }
        state.size = Size { columns, rows };
    }
}

#[test]
fn a_line_longer_than_the_screen_shows_what_is_around_the_cursor() {
    assert_eq!(window("", "", 5), (String::new(), 0));
    assert_eq!(window("abc", "abcdef", 10), ("abcdef".to_owned(), 3));
    assert_eq!(window("abcdefgh", "abcdefghij", 5), ("defgh".to_owned(), 5));
    assert_eq!(window("文字文字", "文字文字", 5), ("文字".to_owned(), 4));
    assert_eq!(window("a\u{1b}", "a\u{1b}b", 20), ("a\\u{1b}b".to_owned(), 7));
}

#[test]
fn a_long_line_costs_no_more_than_what_is_seen_of_it() {
    let long = "x".repeat(60_000);
    let begun = std::time::Instant::now();
    assert_eq!(window(&long, &long, 77).1, 77);
    assert_eq!(window("", &long, 77).0.len(), 77);
    // Work that grows with the square of the length takes minutes.
    assert!(begun.elapsed() < std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[test]
fn thirty_uses_leave_room_for_everything_else() {
    let mut state = session(80, 24);
    let running = |id| Running {
        id: UseId(id),
        label: format!("call a{id}"),
        since: NOW,
        progress: None,
        course: Course::Going,
        company: Company::Alone,
    };
    state.running = (1..=30).map(running).collect();
    let screen = shown(&state);
    assert!(screen.contains("call a4") && !screen.contains("call a5 "), "{screen}");
    assert!(screen.contains("… and 26 more"), "{screen}");
    for rows in [1, 2, 3, 5] {
        state.size.rows = rows;
        for dialog in [None, Some(Dialog::List { chosen: None })] {
            state.dialog = dialog;
            assert!(view(&state, NOW).buffer.area.height <= (rows - 1).max(1), "{rows}");
        }
    }
}

#[test]
fn of_eight_thousand_tools_only_those_in_sight_are_laid_out() {
    let mut state = session(80, 24);
    some_servers(&mut state);
    let mut status = (*state.status).clone();
    let mut offered = catalogue();
    let one = std::sync::Arc::clone(offered.tools.values().next().unwrap());
    for number in 0..8000 {
        let name: std::sync::Arc<str> = format!("mcp__gh__t{number:04}").into();
        let description = Some("word ".repeat(1000));
        let tool = qwen_core::CatalogueTool { name: name.clone(), description, ..(*one).clone() };
        offered.tools.insert(name, std::sync::Arc::new(tool));
    }
    status.catalogue = std::sync::Arc::new(offered);
    state.status = std::sync::Arc::new(status);
    let page = |scroll| Dialog::Offers { detail: Detail::of(ServerName::from("gh")), scroll };
    let laid_out = page(4000).panel(&state, 76, NOW).lines;
    assert_eq!(laid_out.len(), 8002 + 1 + 2 + 2);
    assert!(laid_out.iter().filter(|line| line.width() > 0).count() < 60);
    for scroll in [0, 4000, 7000, usize::MAX] {
        state.dialog = Some(page(scroll));
        let screen = shown(&state);
        assert!(screen.lines().all(|row| !row.trim_matches(['│', ' ']).is_empty()), "{scroll}: {screen}");
    }
    let tools = super::super::listing::tools(&state.status.catalogue, None, 80);
    assert_eq!(tools.len(), 501);
    assert_eq!(tools.last().unwrap().plain(), "… and 7502 more; /mcp shows those of a server");
}
