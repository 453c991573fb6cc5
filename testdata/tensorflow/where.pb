
Q
x0Placeholder*
_user_specified_namex0*
dtype0
*
shape
:

WhereWherex0*
T0

$
IdentityIdentityWhere*
T0	"ª