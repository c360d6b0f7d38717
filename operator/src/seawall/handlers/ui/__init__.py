"""The page that `seawall ui` opens: what the operator has observed, for people to look at. It decides nothing."""
