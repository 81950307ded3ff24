//! Files as kubelets write them into a pod: links through `..data`, which is swapped as one.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

pub struct Volume {
    folder: PathBuf,
    versions: AtomicUsize,
}

impl Volume {
    pub fn new(folder: &Path, files: &[(&str, &str)]) -> Self {
        std::fs::create_dir_all(folder).expect("a folder");
        let volume = Self { folder: folder.to_owned(), versions: AtomicUsize::new(0) };
        volume.swap(files);
        for (name, _) in files {
            symlink(Path::new("..data").join(name), folder.join(name)).expect("a link");
        }
        volume
    }

    /// Puts all these files in the place of the old ones.
    pub fn swap(&self, files: &[(&str, &str)]) {
        let version = format!("..version-{}", self.versions.fetch_add(1, Ordering::Relaxed));
        let folder = self.folder.join(&version);
        std::fs::create_dir(&folder).expect("a folder");
        for (name, content) in files {
            std::fs::write(folder.join(name), content).expect("written");
        }
        let link = self.folder.join("..data_tmp");
        symlink(version, &link).expect("a link");
        std::fs::rename(link, self.folder.join("..data")).expect("renamed");
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}
