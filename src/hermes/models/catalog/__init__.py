"""Models, providers and endpoints: what is known of them."""
