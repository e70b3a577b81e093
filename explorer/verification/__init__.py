"""What is checked of a run when it is over: balances, laws, growth. Schemes choose among them."""
