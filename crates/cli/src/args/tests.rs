use super::*;

fn parse(words: &str) -> Cli {
    super::parse(words.split(' ')).unwrap()
}

fn usage_error(words: &str) -> String {
    super::parse(words.split(' ')).unwrap_err().to_string()
}

#[test]
fn the_command_line_is_well_formed() {
    command().debug_assert();
}

#[test]
fn global_flags_stand_before_or_after_the_command() {
    for words in ["qwen -C /p mcp list --yolo", "qwen mcp list --yolo -C /p", "qwen --yolo mcp -C /p list"] {
        let cli = parse(words);
        assert_eq!(cli.global.cwd.as_deref(), Some(std::path::Path::new("/p")), "{words}");
        assert!(cli.global.yolo, "{words}");
    }
}

#[test]
fn the_launch_bound_is_a_comma_list_that_may_be_repeated() {
    let cli = parse("qwen mcp watch --allowed-mcp-server-names a,b --allowed-mcp-server-names c");
    assert_eq!(cli.global.allowed_mcp_server_names.unwrap(), ["a", "b", "c"]);
}

#[test]
fn a_flag_that_may_be_repeated_counts_wherever_it_stands() {
    let cli = parse(
        "qwen --mcp-config 1 --approve-mcp a mcp --allowed-mcp-server-names a,b --mcp-config 2 watch \
         --allowed-mcp-server-names c --mcp-config 3 --approve-mcp b",
    );
    assert_eq!(cli.global.allowed_mcp_server_names.unwrap(), ["a", "b", "c"]);
    assert_eq!(cli.global.mcp_config, ["1", "2", "3"]);
    assert_eq!(cli.global.approve_mcp, ["a", "b"]);
}

#[test]
fn an_absent_launch_bound_and_an_empty_one_differ() {
    assert!(parse("qwen mcp watch").global.allowed_mcp_server_names.is_none());
    let cli = super::parse(["qwen", "mcp", "watch", "--allowed-mcp-server-names", ""]).unwrap();
    assert_eq!(cli.global.allowed_mcp_server_names.unwrap(), [""]);
}

#[test]
fn a_misspelt_command_or_flag_names_the_one_that_was_meant() {
    assert!(usage_error("qwen mcp aprove x").contains("approve"));
    assert!(usage_error("qwen mcp list --jason").contains("--json"));
}

#[test]
fn commands_that_need_one_of_two_things_refuse_none_and_both() {
    for words in [
        "qwen mcp reconnect",
        "qwen mcp reconnect a --all",
        "qwen mcp approvals revoke",
        "qwen mcp approvals revoke a --project",
        "qwen mcp approve a --all",
        "qwen trust --deny --remove",
    ] {
        assert_eq!(super::parse(words.split(' ')).unwrap_err().exit_code(), 2, "{words}");
    }
}

/// Every command below this one, with the words that name it.
fn all_below(command: &clap::Command, path: &str, found: &mut Vec<(String, clap::Command)>) {
    found.push((path.to_owned(), command.clone()));
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        all_below(below, &format!("{path} {}", below.get_name()), found);
    }
}

#[test]
fn help_of_every_command_reads_well_at_eighty_columns() {
    let mut root = command().term_width(80);
    root.build();
    let mut commands = Vec::new();
    all_below(&root, "qwen", &mut commands);
    for (path, mut command) in commands {
        let texts =
            [("h", command.render_help().to_string()), ("help", command.render_long_help().to_string())];
        for (flag, text) in texts {
            let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
            assert!(widest <= 80, "{path}: {widest} columns\n{text}");
            insta::with_settings!({ snapshot_suffix => path.replace(' ', "_") }, {
                insta::assert_snapshot!(flag, text);
            });
        }
    }
}
