"""What the commands share: options, output, tables, opened resources."""
