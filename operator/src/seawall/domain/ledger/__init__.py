"""The ledger: the one place that decides what may be deleted (design section 3). Pure: values in, values out.

Read `rules.py` beside the design; `ledger.py` applies the rules; `report_history.py` is "See, then delete"; `fence.py`,
`intents.py` and `holds.py` are the protocols that make a late step harmless.
"""
