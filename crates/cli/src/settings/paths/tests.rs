use super::*;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        for name in ["home/.qwen", "work/project/inner"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    fn environment(&self, variables: &[(&str, PathBuf)]) -> Environment {
        Environment {
            variables: variables
                .iter()
                .map(|(name, path)| ((*name).to_owned(), path.to_str().unwrap().to_owned()))
                .collect(),
            home: Some(self.at("home")),
            exe: "/opt/qwen".into(),
            cwd: self.at("work"),
        }
    }

    fn find(&self, root: &str, variables: &[(&str, PathBuf)]) -> Result<Paths, PathError> {
        let environment = self.environment(variables);
        let root = ProjectRoot::resolve(&environment, Some(&self.at(root)))?;
        Paths::find(&environment, root)
    }
}

#[test]
fn every_file_is_where_it_is_known_to_be_unless_a_variable_says_otherwise() {
    let place = Place::new();
    let paths = place.find("work/project", &[]).unwrap();
    assert_eq!(paths.user, place.at("home/.qwen/settings.json"));
    assert_eq!(paths.user_env, place.at("home/.qwen/.env"));
    assert_eq!(paths.approvals, place.at("home/.qwen/mcpApprovals.json"));
    assert_eq!(paths.trusted_folders, place.at("home/.qwen/trustedFolders.json"));
    assert_eq!(paths.mcp_json, place.at("work/project/.mcp.json"));
    assert_eq!(paths.workspace, Some(place.at("work/project/.qwen/settings.json")));
    if cfg!(target_os = "linux") {
        assert_eq!(paths.system, Path::new("/etc/qwen-code/settings.json"));
        assert_eq!(paths.system_defaults, Path::new("/etc/qwen-code/system-defaults.json"));
    }
    let moved = place
        .find(
            "work/project",
            &[
                ("QWEN_HOME", "tool".into()),
                ("QWEN_CODE_SYSTEM_SETTINGS_PATH", place.at("sys/s.json")),
                ("QWEN_CODE_MCP_APPROVALS_PATH", place.at("a.json")),
                ("QWEN_CODE_TRUSTED_FOLDERS_PATH", place.at("t.json")),
            ],
        )
        .unwrap();
    assert_eq!(moved.user, place.at("work/tool/settings.json"), "relative to the process's folder");
    assert_eq!(moved.user_env, place.at("work/tool/.env"));
    assert_eq!(moved.system_defaults, place.at("sys/system-defaults.json"));
    assert_eq!((moved.approvals, moved.trusted_folders), (place.at("a.json"), place.at("t.json")));
    let defaults = [("QWEN_CODE_SYSTEM_DEFAULTS_PATH", place.at("d.json"))];
    assert_eq!(place.find("work/project", &defaults).unwrap().system_defaults, place.at("d.json"));
}

#[test]
fn workspace_settings_are_inactive_at_home_and_only_there() {
    let place = Place::new();
    assert_eq!(place.find("home", &[]).unwrap().workspace, None);
    // `QWEN_HOME` moves the tool's files, not the home folder.
    let moved = [("QWEN_HOME", place.at("work/project/.qwen"))];
    assert_eq!(place.find("home", &moved).unwrap().workspace, None);
    std::os::unix::fs::symlink(place.at("home"), place.at("alias")).unwrap();
    assert_eq!(place.find("alias", &[]).unwrap().workspace, None);
    let sources = place.find("home", &[]).unwrap().sources(&[Origin::Inline("{}".to_owned())]);
    let ids: Vec<SourceId> = sources.iter().map(|spec| spec.id).collect();
    assert!(!ids.contains(&SourceId::Workspace));
    assert!(ids.contains(&SourceId::Session(0)));
}

#[test]
fn a_project_may_not_hold_its_own_approvals_or_its_users_settings() {
    let place = Place::new();
    std::os::unix::fs::symlink(place.at("work/project/inner"), place.at("elsewhere")).unwrap();
    for (variable, path) in [
        ("QWEN_HOME", place.at("work/project/.tool")),
        ("QWEN_HOME", "project/.tool".into()),
        ("QWEN_HOME", place.at("elsewhere")),
        ("QWEN_CODE_MCP_APPROVALS_PATH", place.at("work/project/inner/not-yet/a.json")),
        ("QWEN_CODE_MCP_APPROVALS_PATH", place.at("work/x/../project/a.json")),
        ("QWEN_CODE_MCP_APPROVALS_PATH", place.at("elsewhere/a.json")),
        ("QWEN_CODE_TRUSTED_FOLDERS_PATH", place.at("work/project/t.json")),
    ] {
        let error = place.find("work/project", &[(variable, path.clone())]).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, PathError::InsideProject { .. }), "{variable} {}", path.display());
        assert!(text.contains(variable), "{text}");
    }
    // At home, and above it, everything of the user's lies inside.
    assert!(place.find("home", &[]).is_ok());
    assert!(place.find("", &[]).is_ok());
}

#[test]
fn the_project_root_is_canonical_and_must_be_a_folder() {
    let place = Place::new();
    std::os::unix::fs::symlink(place.at("work/project"), place.at("link")).unwrap();
    let environment = place.environment(&[]);
    let root = |folder: &str| ProjectRoot::resolve(&environment, Some(Path::new(folder)));
    let project = place.at("work/project");
    for spelling in ["project", "./project/", "../link", "project/inner/.."] {
        assert_eq!(root(spelling).unwrap().as_path(), project, "{spelling}");
    }
    assert_eq!(ProjectRoot::resolve(&environment, None).unwrap().as_path(), place.at("work"));
    assert!(matches!(root("nowhere"), Err(PathError::NoProjectFolder { .. })));
    std::fs::write(place.at("work/file"), "").unwrap();
    assert!(matches!(root("file"), Err(PathError::ProjectIsNoFolder { .. })));
}

#[test]
fn without_a_home_folder_the_tools_home_must_be_named() {
    let place = Place::new();
    let environment =
        |variables: &[(&str, PathBuf)]| Environment { home: None, ..place.environment(variables) };
    let find = |environment: Environment| {
        let root = ProjectRoot::resolve(&environment, Some(Path::new("project"))).unwrap();
        Paths::find(&environment, root)
    };
    assert!(matches!(find(environment(&[])), Err(PathError::NoHome)));
    assert!(find(environment(&[("QWEN_HOME", place.at("home/.qwen"))])).is_ok());
}

#[test]
fn no_debug_output_shows_a_variable() {
    let place = Place::new();
    let shown = format!("{:?}", place.environment(&[("TOKEN", "s3cret".into())]));
    assert!(!shown.contains("s3cret"));
}
