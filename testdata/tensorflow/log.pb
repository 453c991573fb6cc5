
Q
x0Placeholder*
_user_specified_namex0*
dtype0*
shape
:

LogLogx0*
T0
"
IdentityIdentityLog*
T0"ª