//! The `xestack` command.

fn main() -> xestack::cli::Exit {
    xestack::cli::run(std::env::args_os())
}
