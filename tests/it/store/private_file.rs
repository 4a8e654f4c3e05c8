//! Tests of private files: whole or not at all, and for their owner alone.

use xestack::store::private_file::{append_synced, check_writable, ensure_private_dir, write_atomic};

#[cfg(unix)]
mod private {
    use super::{append_synced, check_writable, ensure_private_dir, write_atomic};
    use std::{fs::Permissions, os::unix::fs::PermissionsExt, path::Path};

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn files_and_folders_are_their_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b");
        ensure_private_dir(&deep).unwrap();
        assert_eq!((mode(&folder.path().join("a")), mode(&deep)), (0o700, 0o700));
        write_atomic(&deep.join("whole"), b"x").unwrap();
        append_synced(&deep.join("lines"), "x").unwrap();
        for name in ["whole", "lines"] {
            assert_eq!(mode(&deep.join(name)), 0o600, "{name}");
        }
    }

    #[test]
    fn a_folder_that_is_there_keeps_its_mode() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        ensure_private_dir(folder.path()).unwrap();
        assert_eq!(mode(folder.path()), 0o755);
        write_atomic(&folder.path().join("file"), b"").unwrap();
        assert!(ensure_private_dir(&folder.path().join("file")).is_err());
    }

    #[test]
    fn replacing_a_readable_file_makes_it_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_atomic(&path, b"old").unwrap();
        std::fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        write_atomic(&path, b"new").unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), mode(&path)), (b"new".to_vec(), 0o600));
    }

    #[test]
    fn a_pipe_is_written_to_and_stays() {
        use std::os::unix::fs::FileTypeExt as _;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let reader = std::thread::spawn({
            let path = path.clone();
            move || std::fs::read(path).unwrap()
        });
        check_writable(&path).unwrap();
        write_atomic(&path, b"through").unwrap();
        assert_eq!(reader.join().unwrap(), b"through");
        assert!(std::fs::metadata(&path).unwrap().file_type().is_fifo());
    }

    #[test]
    fn a_link_is_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (path, victim) = (folder.path().join("link"), folder.path().join("victim"));
        write_atomic(&victim, b"theirs").unwrap();
        std::os::unix::fs::symlink(&victim, &path).unwrap();
        write_atomic(&path, b"ours").unwrap();
        assert_eq!(std::fs::read(&victim).unwrap(), b"theirs");
        assert!(std::fs::symlink_metadata(&path).unwrap().is_file());
    }
}

#[test]
fn whether_a_file_can_be_written_is_found_without_writing_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    check_writable(&path).unwrap();
    assert!(!path.exists());
    write_atomic(&path, b"stays").unwrap();
    check_writable(&path).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"stays");
    assert!(check_writable(folder.path()).is_err());
    assert!(check_writable(&folder.path().join("missing/file")).is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let taken = folder.path().join("taken");
    ensure_private_dir(&taken.join("inside")).unwrap();
    assert!(write_atomic(&taken, b"x").is_err());
    assert!(write_atomic(&folder.path().join("missing/file"), b"x").is_err());
    assert!(write_atomic(std::path::Path::new("/"), b"x").is_err());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["taken"]);
}

#[test]
fn lines_are_appended_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("journal.jsonl");
    append_synced(&path, "one").unwrap();
    append_synced(&path, "two").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"one\ntwo\n");
    write_atomic(&path, b"one\ntw").unwrap();
    append_synced(&path, "three").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"one\ntw\nthree\n");
    let refused = append_synced(&path, "a\nb").unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::InvalidInput);
    assert_eq!(std::fs::read(&path).unwrap(), b"one\ntw\nthree\n");
}
