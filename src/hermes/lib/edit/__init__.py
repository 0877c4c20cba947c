"""Pure text edits: find and replace with looser and looser matching, multi-file patches, diffs."""
