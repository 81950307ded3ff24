//! Standard output.

use std::io::{self, Write};

/// Prints all of it. Whoever reads along, such as `head`, may have seen enough before the end.
pub(super) fn print(text: impl AsRef<[u8]>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_ref()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}
