
M
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:	
@
UniqueWithCountsUniqueWithCountsx0*
T0*
out_idx0
/
IdentityIdentityUniqueWithCounts*
T0
3

Identity_1IdentityUniqueWithCounts:1*
T0
3

Identity_2IdentityUniqueWithCounts:2*
T0"ª