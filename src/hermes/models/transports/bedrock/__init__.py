"""The Bedrock Converse wire."""
