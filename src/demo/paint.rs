//! Colours, where the reader can see them.

use std::io::IsTerminal;

/// Whether to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// Not one escape code.
    Plain,
    /// Colours of the 256-colour palette.
    Colour,
}

/// Background and foreground by how full a node is, from cool to warm.
const FILL: [(u8, u8); 5] = [(237, 245), (24, 231), (30, 231), (179, 16), (167, 231)];

impl Paint {
    /// What suits standard output. See no-color.org for the variable.
    pub fn for_stdout() -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        if std::io::stdout().is_terminal() && !dumb && !set("NO_COLOR") {
            Paint::Colour
        } else {
            Paint::Plain
        }
    }

    /// A square of the map, three columns wide: how many pods, in the colour of `pods / room`.
    pub fn square(self, pods: usize, room: usize) -> String {
        let sign = if pods == 0 { ".".to_owned() } else { pods.to_string() };
        match self {
            Paint::Plain => format!("[{sign}]"),
            Paint::Colour => {
                let steps = FILL.len() - 1;
                // Rounded up, so that only an empty node looks empty.
                let step = (pods * steps).div_ceil(room.max(1)).min(steps);
                let (back, front) = FILL[step];
                format!("\x1b[48;5;{back};38;5;{front}m {sign} \x1b[0m")
            }
        }
    }

    /// A place on a node, by the letter of whoever has it.
    pub fn occupant(self, letter: char) -> String {
        let style = match letter {
            'A' => "38;5;114",
            'B' => "38;5;179",
            _ => "38;5;245",
        };
        self.styled(style, &letter.to_string())
    }

    /// A heading.
    pub fn heading(self, text: &str) -> String {
        self.styled("1;38;5;80", text)
    }

    /// Something that came out as it should.
    pub fn good(self, text: &str) -> String {
        self.styled("38;5;114", text)
    }

    /// Something of less weight.
    pub fn faint(self, text: &str) -> String {
        self.styled("38;5;245", text)
    }

    fn styled(self, style: &str, text: &str) -> String {
        match self {
            Paint::Plain => text.to_owned(),
            Paint::Colour => format!("\x1b[{style}m{text}\x1b[0m"),
        }
    }
}
