//! Standard output, as a page that is written from top to bottom or, on a terminal, redrawn in places.

use std::io::{self, Stdout, Write};
use std::time::Duration;

use super::paint::Paint;

/// Between two frames: quick enough to seem alive, slow enough to be followed.
const FRAME: Duration = Duration::from_millis(35);

/// The page.
pub struct Screen {
    out: Stdout,
    /// Whether anything is written at all.
    is_seen: bool,
    /// How to colour what is printed.
    pub paint: Paint,
    chapters: usize,
    /// Lines of the frame that the next one replaces.
    drawn: usize,
}

impl Screen {
    /// An empty page on standard output.
    pub fn new() -> Self {
        Self { out: io::stdout(), is_seen: true, paint: Paint::for_stdout(), chapters: 0, drawn: 0 }
    }

    /// A page that nobody sees, coloured like the one that somebody will.
    pub fn unseen() -> Self {
        Self { is_seen: false, ..Self::new() }
    }

    /// Begins a chapter.
    pub fn chapter(&mut self, title: &str) -> io::Result<()> {
        self.chapters += 1;
        let heading = self.paint.heading(&format!("{}. {title}", self.chapters));
        self.print(&["", &heading, ""])
    }

    /// Prints lines.
    pub fn print<L: AsRef<str>>(&mut self, lines: &[L]) -> io::Result<()> {
        if !self.is_seen {
            return Ok(());
        }
        for line in lines {
            writeln!(self.out, "{}", line.as_ref())?;
        }
        self.out.flush()
    }

    /// Prints what was checked and found right.
    pub fn checked(&mut self, finding: &str) -> io::Result<()> {
        let mark = self.paint.good("ok");
        self.print(&[format!("  {mark}  {finding}")])
    }

    /// Shows a passing state in place of the last, where there is a terminal to see it.
    pub async fn frame(&mut self, lines: &[String]) -> io::Result<()> {
        if self.is_seen && self.paint == Paint::Colour {
            self.redraw(lines)?;
            self.drawn = lines.len();
            tokio::time::sleep(FRAME).await;
        }
        Ok(())
    }

    /// Shows the last state, which stays.
    pub fn settle(&mut self, lines: &[String]) -> io::Result<()> {
        if self.drawn == 0 {
            return self.print(lines);
        }
        self.redraw(lines)?;
        self.drawn = 0;
        Ok(())
    }

    /// In one write, so that nothing half-drawn is seen, and without line wrap, which would put the next
    /// frame in the wrong place on a narrow terminal.
    fn redraw(&mut self, lines: &[String]) -> io::Result<()> {
        let back = if self.drawn > 0 { format!("\x1b[{}A\r", self.drawn) } else { String::new() };
        let mut frame = format!("\x1b[?7l{back}");
        for line in lines {
            frame += line;
            frame += "\x1b[K\n";
        }
        frame += "\x1b[?7h";
        self.out.write_all(frame.as_bytes())?;
        self.out.flush()
    }
}
