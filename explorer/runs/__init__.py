"""One run of a kernel: its workspace, its record, its rows, its outcome."""
