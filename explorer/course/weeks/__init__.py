"""The chapters: one file each, with its exercises. A new file is found by itself."""
