//! What one request is decided on.

use std::sync::Arc;

use crate::config::Config;
use crate::engine::Engine;
use crate::view::View;

/// View and settings that belong together: groups in the view are recognised as the configuration says, and the engine
/// was made from it. Cheap to clone.
#[derive(Clone)]
pub struct Snapshot {
    pub(super) view: Arc<View>,
    pub(super) settings: Arc<Settings>,
}

/// What a reload replaces.
pub(super) struct Settings {
    pub(super) config: Config,
    pub(super) engine: Engine,
}

impl Snapshot {
    /// The cluster.
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The settings in force.
    pub fn config(&self) -> &Config {
        &self.settings.config
    }

    /// Whether both are decided on by the same settings.
    pub(crate) fn has_settings_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.settings, &other.settings)
    }

    /// Who decides by them.
    pub fn engine(&self) -> &Engine {
        &self.settings.engine
    }
}
