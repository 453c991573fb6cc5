
M
x0Placeholder*
_user_specified_namex0*
dtype0*
shape:	
,
UniqueUniquex0*
T0*
out_idx0
%
IdentityIdentityUnique*
T0
)

Identity_1IdentityUnique:1*
T0"ª